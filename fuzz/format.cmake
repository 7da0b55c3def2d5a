rill_add_fuzzer(gguf DEPENDS rill_format)
rill_add_fuzzer(safetensors DEPENDS rill_format)
rill_add_fuzzer(json DEPENDS rill_base)
