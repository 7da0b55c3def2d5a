// SPDX-License-Identifier: Apache-2.0
#include "tasks/stop_strings.h"

#include <algorithm>

namespace rill::tasks {

std::string StopStrings::push(std::string_view text) {
  if (is_stopped_) return {};
  if (stops_.empty()) return std::string(text);
  const size_t seen = held_.size();
  held_ += text;
  for (size_t end = seen + 1; end <= held_.size(); ++end) {
    const size_t length = longest_stop_at_end(end);
    if (length == 0) continue;
    is_stopped_ = true;
    held_.resize(end - length);
    return std::move(held_);
  }
  const size_t kept = longest_start_at_end();
  std::string out = held_.substr(0, held_.size() - kept);
  held_.erase(0, out.size());
  return out;
}

std::string StopStrings::finish() {
  std::string out = is_stopped_ ? std::string() : std::move(held_);
  held_.clear();
  return out;
}

/// Bytes of the longest stop that ends at `end`; 0: none does.
size_t StopStrings::longest_stop_at_end(size_t end) const {
  const std::string_view text = std::string_view(held_).substr(0, end);
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    if (text.ends_with(stop)) longest = std::max(longest, stop.size());
  }
  return longest;
}

/// Bytes at the end of the held text that a stop may begin with.
size_t StopStrings::longest_start_at_end() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    const size_t most = std::min(stop.size() - 1, held_.size());
    for (size_t length = most; length > longest; --length) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, length))) {
        longest = length;
        break;
      }
    }
  }
  return longest;
}

}  // namespace rill::tasks
