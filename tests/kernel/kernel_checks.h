// SPDX-License-Identifier: Apache-2.0
// Checks that a tier's kernels equal the scalar ones bit for bit. Free of GoogleTest, so that the
// same checks run as a test here and in a small program for another processor
// (tools/cross_kernels.sh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/str_cat.h"
#include "kernels/kernel_table.h"

namespace rill::test {

/// Collects what differed.
class CheckLog {
 public:
  void fail(std::string message) {
    if (failures_.size() < 10) failures_.push_back(std::move(message));
    ++count_;
  }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] std::string text() const {
    std::string all = cat(count_, " differences");
    for (const std::string& failure : failures_) all += "\n  " + failure;
    return all;
  }

 private:
  std::vector<std::string> failures_;
  size_t count_ = 0;
};

/// The check of one kernel: compares `tier`'s kernel with kernel_table(kScalar)'s.
struct KernelCheck {
  std::string_view function;
  void (*run)(const kernels::KernelTable& tier, CheckLog& log);
};

/// The checks of norm, elementwise, rope, attention and conv.
std::span<const KernelCheck> ops_kernel_checks();

/// A fixed sequence of test values (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
  }
  /// Uniform in [low, high).
  float uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(bits() >> 40) * 0x1p-24f);
  }

 private:
  uint64_t state_;
};

/// What kind of values a check feeds.
enum class Values {
  kOrdinary,   ///< in [-4, 4)
  kWide,       ///< all magnitudes with both signs, zeros and denormals included; products overflow
  kTiny,       ///< denormals and values whose products are denormal
  kNonFinite,  ///< ordinary values with infinities and NaN among them
};
inline constexpr Values kAllValues[] = {Values::kOrdinary, Values::kWide, Values::kTiny,
                                        Values::kNonFinite};

inline float test_value(Random& random, Values kind) {
  const auto from_bits = [](uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  const uint64_t bits = random.bits();
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << 31;
  const auto mantissa = static_cast<uint32_t>(bits & 0x7FFFFF);
  const auto pick = static_cast<uint32_t>(bits >> 32 & 0xFF);
  switch (kind) {
    case Values::kOrdinary:
      break;
    case Values::kWide:
      if (pick < 16) return from_bits(sign);
      return from_bits(sign | (pick % 255) << 23 | mantissa);
    case Values::kTiny:
      return from_bits(sign | pick % 70 << 23 | mantissa);
    case Values::kNonFinite:
      if (pick < 8) return from_bits(sign | 0x7F800000U);
      if (pick < 16) return from_bits(sign | 0x7FC00000U | mantissa);
      break;
  }
  return random.uniform(-4.0f, 4.0f);
}

/// `size` test values at an address that is aligned to 4 bytes only.
class TestVector {
 public:
  TestVector(Random& random, Values kind, size_t size) : values_(size + 1) {
    for (float& value : values_) value = test_value(random, kind);
  }
  TestVector(size_t size, float fill) : values_(size + 1, fill) {}
  float* data() { return values_.data() + 1; }
  [[nodiscard]] const float* data() const { return values_.data() + 1; }
  [[nodiscard]] size_t size() const { return values_.size() - 1; }
  /// Whether the value in front of the data is still there.
  [[nodiscard]] float guard() const { return values_[0]; }

 private:
  std::vector<float> values_;
};

/// Equal bits, or NaN on both sides: which NaN an operation makes is the processor's choice.
inline bool same_float(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

/// Logs the first place where two outputs differ.
inline void expect_same(std::span<const float> got, std::span<const float> want,
                        std::string_view what, CheckLog& log) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (same_float(got[i], want[i])) continue;
    log.fail(cat(what, ": value ", i, ": got ", got[i], ", expected ", want[i]));
    return;
  }
}
inline void expect_same(const TestVector& got, const TestVector& want, std::string_view what,
                        CheckLog& log) {
  expect_same({got.data() - 1, got.size() + 1}, {want.data() - 1, want.size() + 1}, what, log);
}

}  // namespace rill::test
