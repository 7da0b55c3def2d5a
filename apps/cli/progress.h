// SPDX-License-Identifier: Apache-2.0
// A progress bar on stderr: only on a terminal, and only for work that takes longer than a second.
#pragma once

#include <chrono>
#include <string>

namespace rill::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  /// Wipes the bar.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// done: 0 to 1.
  void update(double done);

 private:
  std::string label_;
  std::chrono::steady_clock::time_point start_;
  bool terminal_;
  int shown_percent_ = -1;
};

}  // namespace rill::cli
