# The small models come from the tests' support code.
find_package(GTest REQUIRED)
rill_add_fuzzer(snapshot DEPENDS rill_session GTest::gtest)
target_sources(fuzz_snapshot PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/gguf_builder.cc)
target_include_directories(fuzz_snapshot PRIVATE ${PROJECT_SOURCE_DIR}/tests)
