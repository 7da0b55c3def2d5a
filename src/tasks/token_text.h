// SPDX-License-Identifier: Apache-2.0
// TokenText: the text of a reply while its tokens arrive: whole characters, nothing of a stop text,
// and with each piece of text the tokens that it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tasks/stop_strings.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace rill::tasks {

/// A token that was picked, with what was asked for about it.
struct TokenLogprob {
  int32_t id = -1;
  float logprob = 0;                           ///< natural logarithm
  std::vector<std::pair<int32_t, float>> top;  ///< the most likely ones, best first
};

/// Special tokens that stay visible: those that mark reasoning and tool calls.
enum class SpecialTokens { kHide, kShowMarkers };

class TokenText {
 public:
  /// Lifetime: the tokenizer outlives it.
  TokenText(const text::Tokenizer& tokenizer, std::vector<std::string> stops,
            SpecialTokens specials);

  struct Piece {
    std::string text;
    std::vector<TokenLogprob> tokens;
  };

  /// `token` is kept for the piece that its text begins in, if it has to be reported.
  Piece push(int32_t id, const TokenLogprob* token);
  /// The end of the reply. A character that is still open is dropped.
  Piece finish();

  /// A stop text came; nothing more comes out.
  [[nodiscard]] bool is_stopped() const { return stops_.is_stopped(); }

 private:
  struct Waiting {
    size_t begin = 0;  // byte of the text before the token
    TokenLogprob token;
  };

  Piece release(std::string text, bool is_end);
  [[nodiscard]] bool is_shown(int32_t id) const;

  const text::Tokenizer* tokenizer_;
  std::vector<int32_t> markers_;
  StopStrings stops_;
  text::Utf8Stream utf8_;
  std::vector<Waiting> waiting_;
  size_t decoded_bytes_ = 0;
  size_t released_bytes_ = 0;
};

}  // namespace rill::tasks
