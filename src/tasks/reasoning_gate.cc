// SPDX-License-Identifier: Apache-2.0
#include "tasks/reasoning_gate.h"

#include <algorithm>

namespace rill::tasks {
namespace {

void set_bit(std::span<uint64_t> words, int32_t token) {
  words[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
}

}  // namespace

Status ReasoningGate::allowed(std::span<uint64_t> words) {
  const bool is_spent = options_.budget && reasoning_tokens_ >= *options_.budget;
  if (is_open_ && is_spent && options_.close_id) {
    std::fill(words.begin(), words.end(), uint64_t{0});
    set_bit(words, *options_.close_id);
    return {};
  }
  if (!is_open_ && rule_ != nullptr) {
    RILL_RETURN_IF_ERROR(rule_->allowed(words));
    // An answer that has not begun may still be reasoned about; without a budget that is pointless.
    const bool may_open = answer_ == Spoken::kNothing && options_.open_id && options_.close_id;
    if (may_open && !is_spent) set_bit(words, *options_.open_id);
    return {};
  }
  std::fill(words.begin(), words.end(), ~uint64_t{0});
  const size_t tail = options_.vocab_size % 64;
  if (tail != 0) words.back() = (uint64_t{1} << tail) - 1;
  // What was closed because its budget was spent is not opened again.
  if (!is_open_ && was_open_ && is_spent && options_.open_id) {
    const auto open = static_cast<size_t>(*options_.open_id);
    words[open / 64] &= ~(uint64_t{1} << (open % 64));
  }
  return {};
}

Status ReasoningGate::accept(int32_t token) {
  if (is_open_) {
    if (options_.close_id == token) {
      is_open_ = false;
      was_open_ = true;
    } else {
      ++reasoning_tokens_;
    }
    return {};
  }
  if (options_.open_id == token && (rule_ == nullptr || answer_ == Spoken::kNothing)) {
    is_open_ = true;
    return {};
  }
  answer_ = Spoken::kSomething;
  return rule_ != nullptr ? rule_->accept(token) : Status();
}

}  // namespace rill::tasks
