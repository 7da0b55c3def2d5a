// SPDX-License-Identifier: Apache-2.0
// ReasoningGate: lets a model reason freely, but no longer than its budget, and holds the answer
// after the reasoning to a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "session/token_constraint.h"

namespace rill::tasks {

/// Threading: one thread. Lifetime: the rule outlives it.
class ReasoningGate : public session::TokenConstraint {
 public:
  struct Options {
    std::optional<int32_t> open_id;     ///< <think>
    std::optional<int32_t> close_id;    ///< </think>
    std::optional<size_t> budget = {};  ///< most tokens of reasoning; unset: no limit
    bool starts_open = false;           ///< the prompt ended with an open <think>
    size_t vocab_size = 0;
  };

  /// rule: what the answer follows; may be null.
  ReasoningGate(const Options& options, session::TokenConstraint* rule)
      : options_(options), rule_(rule), is_open_(options.starts_open) {}

  Status allowed(std::span<uint64_t> words) override;
  Status accept(int32_t token) override;

 private:
  enum class Spoken { kNothing, kSomething };

  const Options options_;
  session::TokenConstraint* rule_;
  bool is_open_;
  bool was_open_ = false;  // and has been closed
  size_t reasoning_tokens_ = 0;
  Spoken answer_ = Spoken::kNothing;
};

}  // namespace rill::tasks
