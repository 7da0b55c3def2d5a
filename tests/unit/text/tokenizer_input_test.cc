// SPDX-License-Identifier: Apache-2.0
// Malformed and unsupported tokenizer files: every error names the key or field.
#include "text/tokenizer.h"
#include "unit/text/text_test_data.h"

namespace rill::text {
namespace {

using format::Metadata;
using format::MetadataValue;
using test::read_data;
using test::with_change;

void expect_error(const Result<Tokenizer>& result, ErrorCode code, const std::string& named) {
  ASSERT_FALSE(result) << named;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(named), std::string::npos) << result.error().message;
}

void expect_json_error(const std::string& from, const std::string& to, ErrorCode code,
                       const std::string& named) {
  const std::string json = with_change(read_data("tokenizer/tokenizer.json"), from, to);
  expect_error(Tokenizer::from_json(json, "", "dir"), code, named);
}

TEST(TokenizerJson, RefusesWhatIsNoTokenizer) {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"model\": 1}"}) {
    const Result<Tokenizer> result = Tokenizer::from_json(text, "", "dir");
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().message.rfind("dir: tokenizer.json: ", 0), 0u)
        << result.error().message;
  }
}

TEST(TokenizerJson, RefusesAnotherPipelineByName) {
  const auto code = ErrorCode::kUnsupported;
  expect_json_error("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}", code,
                    "normalizer: got {\"type\"");
  expect_json_error("\\\\p{N}{1,3}", "\\\\p{N}", code, "pretokenizers[0].pattern: got");
  expect_json_error("\"Isolated\"", "\"Removed\"", code,
                    "pretokenizers[0].behavior: got \"Removed\"");
  expect_json_error("\"invert\": false", "\"invert\": true", code, "invert");
  expect_json_error("\"use_regex\": false", "\"use_regex\": true", code, "use_regex");
  expect_json_error("\"add_prefix_space\": false", "\"add_prefix_space\": true", code,
                    "add_prefix_space");
  expect_json_error("\"type\": \"TemplateProcessing\"", "\"type\": \"RobertaProcessing\"", code,
                    "post_processor");
  expect_json_error("\"version\"", "\"surprise\": 1, \"version\"", code,
                    "unknown key \"surprise\"");
}

TEST(TokenizerJson, RefusesAnotherModelByName) {
  const auto code = ErrorCode::kUnsupported;
  expect_json_error("\"BPE\"", "\"Unigram\"", code, "model.type: got \"Unigram\"");
  expect_json_error("\"dropout\": null", "\"dropout\": 0.1", code, "model.dropout: got 0.1");
  expect_json_error("\"byte_fallback\": false", "\"byte_fallback\": true", code,
                    "model.byte_fallback");
  expect_json_error("\"unk_token\": null", "\"unk_token\": \"a\"", code, "model.unk_token");
}

TEST(TokenizerJson, RefusesAddedTokenFlagsByName) {
  const auto code = ErrorCode::kUnsupported;
  expect_json_error("\"lstrip\": false", "\"lstrip\": true", code, "added_tokens[0].lstrip");
  expect_json_error("\"rstrip\": false", "\"rstrip\": true", code, "added_tokens[0].rstrip");
  expect_json_error("\"single_word\": false", "\"single_word\": true", code,
                    "added_tokens[0].single_word");
}

TEST(TokenizerJson, RefusesBrokenVocabulary) {
  const auto code = ErrorCode::kInvalidFormat;
  expect_json_error("\"!\": 134", "\"!\": -1", code, "model.vocab[\"!\"]");
  expect_json_error("\"!\": 134", "\"!\": 4194304", code, "model.vocab[\"!\"]");
  expect_json_error("\"!\": 134", "\"!\": 1.5", code, "model.vocab[\"!\"]");
  expect_json_error("\"!\": 134", "\"!\": 135", code, "id 135 is given to two tokens");
  expect_json_error("\"!\": 134", "\"!!!!\": 134", code, "no token stands for the byte 33");
  expect_json_error("\"merges\": [", "\"merges\": [[\"!\", \"\"],", code, "model.merges[0]");
  expect_json_error("\"merges\": [", "\"merges\": [\"ab\",", code, "model.merges[0]");
  expect_json_error("\"merges\": [", "\"merges\": [7,", code, "model.merges[0]");
}

TEST(TokenizerJson, RefusesConfigThatContradicts) {
  const std::string json = read_data("tokenizer/tokenizer.json");
  const std::pair<const char*, const char*> cases[] = {
      {"{\"eos_token\": \"<|none|>\"}", "eos_token"},
      {"{\"add_eos_token\": true}", "add_eos_token"},
      {"{\"bos_token\": \"<|im_end|>\"}", "bos_token"},
      {"{\"pad_token\": 5}", "pad_token"},
      {"{\"added_tokens_decoder\": {\"9\": {\"content\": \"<|new|>\"}}}",
       "added_tokens_decoder[\"9\"]"},
      {"[]", "top level"},
      {"{", "tokenizer_config.json"},
  };
  for (const auto& [config, named] : cases) {
    const Result<Tokenizer> result = Tokenizer::from_json(json, config, "dir");
    ASSERT_FALSE(result) << config;
    EXPECT_NE(result.error().message.find(named), std::string::npos) << result.error().message;
  }
}

TEST(TokenizerJson, ReadsTokensWrittenAsObjects) {
  const Result<Tokenizer> tokenizer =
      Tokenizer::from_json(read_data("tokenizer/tokenizer.json"),
                           R"({"eos_token": {"content": "<|im_end|>"}, "pad_token": null})", "dir");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->eos_id(), 7);
  EXPECT_EQ(tokenizer->pad_id(), std::nullopt);
}

/// The metadata of the audio vocabulary with one key changed or (value.type == kLeaveOut) left out.
constexpr uint32_t kLeaveOut = 99;

Result<Tokenizer> from_changed_metadata(const std::string& key, const MetadataValue& value) {
  Result<format::GgufFile> file =
      format::GgufFile::open(std::string(RILL_TEST_DATA) + "/text/tokenizer/audio_vocabulary.gguf");
  EXPECT_TRUE(file) << file.error().message;
  Metadata changed("model.gguf");
  if (value.type != kLeaveOut) changed.add(key, value);
  for (const auto& [name, original] : file->metadata().all()) {
    if (name != key) changed.add(name, original);
  }
  return Tokenizer::from_metadata(changed);
}

MetadataValue text_value(const std::string& text) { return {.type = 8, .value = text}; }

TEST(TokenizerGguf, RefusesOtherTokenizersByName) {
  const auto code = ErrorCode::kUnsupported;
  expect_error(from_changed_metadata("tokenizer.ggml.model", text_value("llama")), code,
               "model.gguf: tokenizer.ggml.model: got \"llama\", this build knows \"gpt2\"");
  expect_error(from_changed_metadata("tokenizer.ggml.pre", text_value("qwen2")), code,
               "model.gguf: tokenizer.ggml.pre: got \"qwen2\", this build knows \"lfm2\"");
  expect_error(from_changed_metadata("tokenizer.ggml.add_eos_token", {.type = 7, .value = true}),
               code, "tokenizer.ggml.add_eos_token");
}

TEST(TokenizerGguf, NamesTheMissingKey) {
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens",
                          "tokenizer.ggml.token_type", "tokenizer.ggml.merges"}) {
    expect_error(from_changed_metadata(key, {.type = kLeaveOut, .value = false}),
                 ErrorCode::kNotFound, key);
  }
}

TEST(TokenizerGguf, RefusesContradictions) {
  const auto code = ErrorCode::kInvalidFormat;
  using Strings = MetadataValue::Strings;
  using Ints = MetadataValue::Ints;
  expect_error(
      from_changed_metadata("tokenizer.ggml.bos_token_id", {.type = 4, .value = uint64_t{640}}),
      code, "tokenizer.ggml.bos_token_id: got id 640");
  expect_error(from_changed_metadata("tokenizer.ggml.token_type",
                                     {.type = 9, .element_type = 5, .value = Ints{1}}),
               code, "tokenizer.ggml.token_type: got 1 types, expected 640");
  expect_error(from_changed_metadata("tokenizer.ggml.token_type",
                                     {.type = 9, .element_type = 5, .value = Ints(640, 6)}),
               ErrorCode::kUnsupported, "token 0: got type 6");
  expect_error(
      from_changed_metadata("tokenizer.ggml.merges",
                            {.type = 9, .element_type = 8, .value = Strings{"e r", "x yz"}}),
      code, "tokenizer.ggml.merges[1]: \"yz\" is not in the vocabulary");
  expect_error(
      from_changed_metadata("tokenizer.ggml.merges",
                            {.type = 9, .element_type = 8, .value = Strings{"e r", "e r"}}),
      code, "listed twice");
  expect_error(from_changed_metadata("tokenizer.ggml.tokens",
                                     {.type = 9, .element_type = 8, .value = Strings(640, "same")}),
               code, "tokenizer.ggml.tokens: tokens 0 and 1 have the same text \"same\"");
}

TEST(TokenizerGguf, UserDefinedTokensAreMatchedWholeAndPrinted) {
  MetadataValue types = {.type = 9, .element_type = 5, .value = MetadataValue::Ints(640, 1)};
  std::get<MetadataValue::Ints>(types.value)[500] = 4;
  Result<Tokenizer> tokenizer = from_changed_metadata("tokenizer.ggml.token_type", types);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const std::string text(tokenizer->token_bytes(500));
  EXPECT_EQ(
      *tokenizer->encode("x" + text + "x"),
      (std::vector<int32_t>{(*tokenizer->encode("x"))[0], 500, (*tokenizer->encode("x"))[0]}));
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{500}, true), text);
}

}  // namespace
}  // namespace rill::text
