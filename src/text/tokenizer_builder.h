// SPDX-License-Identifier: Apache-2.0
// TokenizerBuilder: the steps that the two file readers (tokenizer_gguf.cc, tokenizer_json.cc)
// share. Internal.
#pragma once

#include <string_view>
#include <utility>

#include "text/tokenizer.h"

namespace rill::text {

class TokenizerBuilder {
 public:
  explicit TokenizerBuilder(size_t num_tokens) { tokenizer_.vocabulary_ = Vocabulary(num_tokens); }

  [[nodiscard]] Vocabulary& vocabulary() { return tokenizer_.vocabulary_; }
  [[nodiscard]] TokenizerConfig& config() { return tokenizer_.config_; }

  /// Adds "left right". Errors: kInvalidFormat.
  Status add_merge(std::string_view pair);
  Status add_merge(std::string_view left, std::string_view right) {
    return tokenizer_.merges_.add(tokenizer_.vocabulary_, left, right);
  }

  /// Makes a token one that is matched whole; `stage` 0 is searched before 1.
  Status match_whole(std::string_view text, int32_t id, size_t stage) {
    return tokenizer_.added_[stage].add(text, id);
  }

  [[nodiscard]] Tokenizer take() { return std::move(tokenizer_); }

 private:
  Tokenizer tokenizer_;
};

}  // namespace rill::text
