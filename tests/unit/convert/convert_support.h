// SPDX-License-Identifier: Apache-2.0
// What the tests of converting and quantizing share: folders, checkpoints made in memory, logits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/str_cat.h"
#include "convert/convert.h"
#include "convert/quantize.h"
#include "format/gguf.h"
#include "support/test_data.h"
#include "unit/model/lfm2_support.h"

namespace rill::convert_test {

namespace fs = std::filesystem;

using lfm2_test::Compute;

/// A folder that vanishes with it.
class Folder {
 public:
  explicit Folder(std::string_view name) : path_(test::temp_path(name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return cat(path_, "/", name); }
  void write(std::string_view name, std::string_view text) const {
    const std::string target = file(name);
    fs::create_directories(fs::path(target).parent_path());
    test::write_file(target, test::to_bytes(text));
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    return std::string(test::to_text(test::read_file(file(name))));
  }
  /// Replaces text in a file, which must have it.
  void change(std::string_view name, const std::string& from, const std::string& to) const {
    std::string text = read(name);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

/// F32 tensors as a safetensors file.
class SafetensorsBuilder {
 public:
  void add(const std::string& name, const std::vector<size_t>& shape, std::vector<float> values) {
    Json::Array dims;
    for (const size_t dim : shape) dims.push_back(Json::integer(static_cast<int64_t>(dim)));
    const auto begin = static_cast<int64_t>(data_.size() * sizeof(float));
    data_.insert(data_.end(), values.begin(), values.end());
    const auto end = static_cast<int64_t>(data_.size() * sizeof(float));
    Json info = Json::object();
    info.set("dtype", Json::string("F32"));
    info.set("shape", Json::array(std::move(dims)));
    info.set("data_offsets", Json::array({Json::integer(begin), Json::integer(end)}));
    header_.set(name, std::move(info));
  }
  [[nodiscard]] std::string bytes() const {
    const std::string header = header_.dump();
    const uint64_t size = header.size();
    std::string out(reinterpret_cast<const char*>(&size), sizeof size);
    out += header;
    out.append(reinterpret_cast<const char*>(data_.data()), data_.size() * sizeof(float));
    return out;
  }

 private:
  Json header_ = Json::object();
  std::vector<float> data_;
};

/// The tokenizer of the text cases without its learned merges: 390 tokens.
inline std::string small_tokenizer() {
  const auto bytes = test::read_file(test::data_path("text/tokenizer/tokenizer.json"));
  Json root = std::move(parse_json(test::to_text(bytes))).value();
  for (auto& [key, value] : root.members()) {
    if (key != "model") continue;
    for (auto& [name, part] : value.members()) {
      if (name == "merges") part = Json::array();
      if (name != "vocab") continue;
      Json::Object kept;
      for (auto& entry : part.members()) {
        if (entry.second.as_int() < 390) kept.push_back(std::move(entry));
      }
      part = Json::object(std::move(kept));
    }
  }
  return root.dump();
}

inline std::string tokenizer_config() {
  const auto bytes = test::read_file(test::data_path("text/tokenizer/tokenizer_config.json"));
  return std::string(test::to_text(bytes));
}

/// A text model of tests/data with a tokenizer that fits its vocabulary.
inline void copy_text_model(const std::string& name, const Folder& folder) {
  const std::string source = test::data_path(cat("models/text/models/", name));
  fs::copy_file(source + "/config.json", folder.file("config.json"));
  const bool wide = fs::exists(source + "/model.safetensors");
  fs::copy_file(source + (wide ? "/model.safetensors" : "/model-bf16.safetensors"),
                folder.file("model.safetensors"));
  const bool whole = name == "dense_a";  // its vocabulary is that of the text cases
  folder.write("tokenizer.json", whole ? std::string(test::to_text(test::read_file(
                                             test::data_path("text/tokenizer/tokenizer.json"))))
                                       : small_tokenizer());
  folder.write("tokenizer_config.json", tokenizer_config());
}

/// Logits of some tokens, as bits.
inline std::vector<uint32_t> logit_bits(Compute& compute, const model::lfm2::Backbone& backbone) {
  const size_t V = backbone.config().vocab_size;
  const size_t D = backbone.config().hidden_size;
  const auto tokens = lfm2_test::some_tokens(17, static_cast<uint32_t>(V));
  model::lfm2::SequenceState state = lfm2_test::make_state(backbone);
  std::vector<float> hidden = lfm2_test::run_tokens(compute, backbone, state, tokens);
  std::vector<float> logits(tokens.size() * V);
  const Status done = backbone.logits(compute.context, {hidden.data(), tokens.size(), D, D},
                                      Mat{logits.data(), tokens.size(), V, V});
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  std::vector<uint32_t> bits(logits.size());
  std::memcpy(bits.data(), logits.data(), logits.size() * sizeof(float));
  return bits;
}

inline format::GgufFile open_gguf(const std::string& path) {
  auto file = format::GgufFile::open(path);
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  RILL_CHECK(file.has_value(), "a GGUF file");
  return std::move(file).value();
}

template <typename T>
void expect_error(const Result<T>& result, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(result.has_value()) << part;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

}  // namespace rill::convert_test
