// SPDX-License-Identifier: Apache-2.0
#include "tasks/token_text.h"

#include <algorithm>

namespace rill::tasks {

TokenText::TokenText(const text::Tokenizer& tokenizer, std::vector<std::string> stops,
                     SpecialTokens specials)
    : tokenizer_(&tokenizer), stops_(std::move(stops)) {
  if (specials == SpecialTokens::kHide) return;
  for (const char* marker :
       {"<think>", "</think>", "<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"}) {
    if (const auto id = tokenizer.find(marker)) markers_.push_back(*id);
  }
}

bool TokenText::is_shown(int32_t id) const {
  return tokenizer_->kind(id) != text::TokenKind::kControl ||
         std::find(markers_.begin(), markers_.end(), id) != markers_.end();
}

TokenText::Piece TokenText::push(int32_t id, const TokenLogprob* token) {
  if (token != nullptr && !is_stopped()) waiting_.push_back({decoded_bytes_, *token});
  std::string decoded;
  if (is_shown(id)) utf8_.push(tokenizer_->token_bytes(id), decoded);
  decoded_bytes_ += decoded.size();
  return release(stops_.push(decoded), false);
}

TokenText::Piece TokenText::finish() {
  std::string open;
  utf8_.finish(text::OpenCharacter::kDrop, open);
  return release(stops_.finish(), true);
}

/// Tokens come out with the first byte of their text; those of a stop text never do.
TokenText::Piece TokenText::release(std::string text, bool is_end) {
  released_bytes_ += text.size();
  Piece piece;
  piece.text = std::move(text);
  size_t count = 0;
  while (count < waiting_.size() &&
         (waiting_[count].begin < released_bytes_ || (is_end && !is_stopped())))
    ++count;
  for (size_t i = 0; i < count; ++i) piece.tokens.push_back(std::move(waiting_[i].token));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  if (is_stopped()) waiting_.clear();
  return piece;
}

}  // namespace rill::tasks
