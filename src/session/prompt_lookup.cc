// SPDX-License-Identifier: Apache-2.0
#include "session/prompt_lookup.h"

#include <algorithm>

namespace rill::session {

/// How many tokens before `end` agree with the last tokens of the history; at most kMaxMatch.
size_t PromptLookup::match_length(size_t end) const {
  const size_t size = history_.size();
  size_t length = 0;
  while (length < std::min(end, kMaxMatch) &&
         history_[end - 1 - length] == history_[size - 1 - length]) {
    ++length;
  }
  return length;
}

std::span<const int32_t> PromptLookup::guess() const {
  size_t best_end = 0;
  size_t best_length = kMinMatch - 1;
  for (size_t end = history_.empty() ? 0 : history_.size() - 1; end > best_length; --end) {
    const size_t length = match_length(end);
    if (length <= best_length) continue;
    best_length = length;
    best_end = end;
    if (length == kMaxMatch) break;
  }
  if (best_end == 0) return {};
  return std::span<const int32_t>(history_).subspan(best_end).first(
      std::min(limit_, history_.size() - best_end));
}

void PromptLookup::report(size_t guessed, size_t taken) {
  if (guessed == 0) return;
  limit_ = taken == guessed ? std::min(max_guesses_, 2 * limit_) : std::max<size_t>(1, taken + 1);
}

}  // namespace rill::session
