// SPDX-License-Identifier: Apache-2.0
// StopStrings: finds texts that end a reply while it arrives, wherever the pieces are cut, and lets
// nothing of them through.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rill::tasks {

/// The text that is passed on does not depend on how the input is cut.
class StopStrings {
 public:
  /// None of them empty.
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// The text that is certain to be before any stop. The first stop to be complete ends it; of
  /// several that are complete at once, the one that began first.
  [[nodiscard]] std::string push(std::string_view text);
  /// What was held back, when the reply ends without a stop.
  [[nodiscard]] std::string finish();

  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  [[nodiscard]] size_t longest_stop_at_end(size_t end) const;
  [[nodiscard]] size_t longest_start_at_end() const;

  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace rill::tasks
