// SPDX-License-Identifier: Apache-2.0
// SampleRange: a stretch of a signal.
#pragma once

#include <cstdint>

namespace rill::audio {

/// Samples begin to end - 1.
struct SampleRange {
  int64_t begin = 0;
  int64_t end = 0;

  [[nodiscard]] int64_t length() const { return end - begin; }
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

}  // namespace rill::audio
