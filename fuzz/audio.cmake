rill_add_fuzzer(wav DEPENDS rill_codec)
