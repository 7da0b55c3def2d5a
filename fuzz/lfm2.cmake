# The small models come from the tests' support code.
find_package(GTest REQUIRED)
rill_add_fuzzer(lfm2 DEPENDS rill_model_lfm2 GTest::gtest)
target_sources(fuzz_lfm2 PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/gguf_builder.cc)
target_include_directories(fuzz_lfm2 PRIVATE ${PROJECT_SOURCE_DIR}/tests)
