// SPDX-License-Identifier: Apache-2.0
// What all measurements share: the clock, repetition, and the statistics of a report.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace rill::measure {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Token ids that do not repeat in a pattern; the same on every run.
[[nodiscard]] std::vector<int32_t> make_tokens(size_t count, size_t vocab_size);

/// Sets the median of the values as `key`, the least as `key`_min and the largest as `key`_max.
void set_statistics(Json& object, const std::string& key, std::vector<double> values);

/// Runs `measure` once to warm up and `repeat` times for its values.
template <typename Measure>
Result<std::vector<double>> repeated(size_t repeat, const Measure& measure) {
  RILL_ASSIGN_OR_RETURN([[maybe_unused]] const double warm_up, measure());
  std::vector<double> values;
  for (size_t i = 0; i < repeat; ++i) {
    RILL_ASSIGN_OR_RETURN(const double value, measure());
    values.push_back(value);
  }
  return values;
}

}  // namespace rill::measure
