// SPDX-License-Identifier: Apache-2.0
// Files of tests/data/text and the tokenizers made of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/json.h"
#include "format/gguf.h"
#include "text/tokenizer.h"

namespace rill::text::test {

inline std::string read_data(const std::string& name) {
  std::ifstream file(std::string(RILL_TEST_DATA) + "/text/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline Json read_data_json(const std::string& name) {
  Result<Json> json = parse_json(read_data(name));
  EXPECT_TRUE(json) << name << ": " << json.error().message;
  return *std::move(json);
}

inline Tokenizer make_tokenizer(const std::string& tokenizer_json) {
  Result<Tokenizer> tokenizer =
      Tokenizer::from_json(tokenizer_json, read_data("tokenizer/tokenizer_config.json"), "test");
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *std::move(tokenizer);
}

/// The 1024-token vocabulary of the text cases.
inline Tokenizer text_tokenizer() { return make_tokenizer(read_data("tokenizer/tokenizer.json")); }

/// The 640-token vocabulary of the tiny speech model, from GGUF.
inline Tokenizer audio_tokenizer() {
  Result<format::GgufFile> file =
      format::GgufFile::open(std::string(RILL_TEST_DATA) + "/text/tokenizer/audio_vocabulary.gguf");
  EXPECT_TRUE(file) << file.error().message;
  Result<Tokenizer> tokenizer = Tokenizer::from_metadata(file->metadata());
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *std::move(tokenizer);
}

inline std::vector<int32_t> ids_of(const Json& array) {
  std::vector<int32_t> ids;
  for (const Json& item : array.items()) ids.push_back(static_cast<int32_t>(item.as_int()));
  return ids;
}

inline std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// `text` with the only occurrence of `from` replaced.
inline std::string with_change(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

}  // namespace rill::text::test
