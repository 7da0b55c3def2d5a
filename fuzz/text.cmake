rill_add_fuzzer(tokenizer DEPENDS rill_text)
rill_add_fuzzer(jinja DEPENDS rill_text)
rill_add_fuzzer(reply DEPENDS rill_text)
rill_add_fuzzer(grammar DEPENDS rill_text)
