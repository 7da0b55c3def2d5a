// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rill::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr auto kShowAfter = std::chrono::seconds(1);

}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      start_(std::chrono::steady_clock::now()),
      terminal_(isatty(STDERR_FILENO) != 0) {
  // A long name would wrap, and a wrapped line cannot be wiped.
  constexpr size_t kLongestLabel = 30;
  if (label_.size() > kLongestLabel)
    label_ = "..." + label_.substr(label_.size() - kLongestLabel + 3);
}

ProgressBar::~ProgressBar() {
  if (shown_percent_ >= 0) std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(double done) {
  if (!terminal_ || std::chrono::steady_clock::now() - start_ < kShowAfter) return;
  const double part = std::clamp(done, 0.0, 1.0);
  const int percent = static_cast<int>(part * 100);
  if (percent == shown_percent_) return;
  shown_percent_ = percent;
  const int filled = static_cast<int>(part * kBarWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(kBarWidth, '.');
  std::fprintf(stderr, "\r%s [%s] %3d%%", label_.c_str(), bar.c_str(), percent);
}

}  // namespace rill::cli
