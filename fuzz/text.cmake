rill_add_fuzzer(tokenizer DEPENDS rill_text)
