// SPDX-License-Identifier: Apache-2.0
// IncrementalDecoder: the text of a reply while its tokens arrive.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace rill::text {

/// Joined, all that push() and finish() return equals Tokenizer::decode() of the whole with the
/// same options; every single return value is well-formed UTF-8. Lifetime: the tokenizer outlives
/// it.
class IncrementalDecoder {
 public:
  IncrementalDecoder(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  /// The characters that a token completes.
  std::string push(int32_t id) { return stream_.push(tokenizer_->token_bytes(id, skip_special_)); }

  /// Ends the text; starts anew afterwards. A character still open is dropped unless asked
  /// otherwise.
  std::string finish(OpenCharacter open_character = OpenCharacter::kDrop) {
    std::string out;
    dropped_ = stream_.finish(open_character, out) && open_character == OpenCharacter::kDrop;
    return out;
  }

  /// Bytes of the character that is still open, at most 3.
  [[nodiscard]] size_t held_bytes() const { return stream_.held_bytes(); }
  /// Whether the last finish() dropped an open character.
  [[nodiscard]] bool dropped_open_character() const { return dropped_; }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  bool dropped_ = false;
  Utf8Stream stream_;
};

}  // namespace rill::text
