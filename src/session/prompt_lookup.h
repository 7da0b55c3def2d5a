// SPDX-License-Identifier: Apache-2.0
// PromptLookup: guesses the next tokens of a reply from what followed the same words before, in the
// prompt or in the reply itself. A guess costs little and is checked, so it changes only the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rill::session {

/// Guesses for one sequence. Source: Saxena, "Prompt Lookup Decoding", 2023.
class PromptLookup {
 public:
  /// Tokens that must be the same for a place to count, and that decide between places.
  static constexpr size_t kMinMatch = 2;
  static constexpr size_t kMaxMatch = 8;

  /// max_guesses: tokens guessed at once, at most.
  explicit PromptLookup(size_t max_guesses) : max_guesses_(max_guesses), limit_(max_guesses) {}

  /// Takes the next token of the prompt or of the reply.
  void observe(int32_t token) { history_.push_back(token); }

  /// What followed the latest of the places whose last tokens agree longest with the history's, or
  /// nothing. Cost: one pass over the history. Lifetime: until the next observe().
  [[nodiscard]] std::span<const int32_t> guess() const;

  /// Tells how a guess went: much is guessed where guesses come true, little where they do not.
  void report(size_t guessed, size_t taken);

 private:
  [[nodiscard]] size_t match_length(size_t end) const;

  size_t max_guesses_;
  size_t limit_;
  std::vector<int32_t> history_;
};

}  // namespace rill::session
