// SPDX-License-Identifier: Apache-2.0
// What the ops tests share: a context, matrices of fixed values, comparison of bits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace rill::test {

/// The tier that RILL_ISA names, or the best one; scalar if the processor lacks it.
inline IsaTier test_tier() {
  const char* forced = std::getenv("RILL_ISA");
  const Result<IsaTier> tier = choose_isa_tier(forced == nullptr ? "" : forced);
  return tier ? *tier : IsaTier::kScalar;
}

/// A context of its own.
class OpsContext {
 public:
  explicit OpsContext(size_t threads = 1, IsaTier tier = test_tier())
      : pool_(ThreadPool::create(threads)) {
    context_ = {&kernels::kernel_table(tier), pool_.value().get(), &scratch_};
  }
  operator ops::Context&() { return context_; }
  [[nodiscard]] const kernels::KernelTable& kernels() const { return *context_.kernels; }

 private:
  Result<std::unique_ptr<ThreadPool>> pool_;
  Arena scratch_;
  ops::Context context_;
};

/// A matrix that owns its values; rows may be further apart than they are wide.
class TestMat {
 public:
  TestMat(size_t rows, size_t cols, size_t gap = 0)
      : values_(rows * (cols + gap), -99.0f), rows_(rows), cols_(cols), stride_(cols + gap) {}
  static TestMat random(size_t rows, size_t cols, uint64_t seed, size_t gap = 0) {
    TestMat mat(rows, cols, gap);
    uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
    for (float& value : mat.values_) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      value = static_cast<float>(state >> 40) * 0x1p-23f - 1.0f;
    }
    return mat;
  }
  operator Mat() { return {values_.data(), rows_, cols_, stride_}; }
  operator ConstMat() const { return {values_.data(), rows_, cols_, stride_}; }
  [[nodiscard]] Mat mat() { return *this; }
  [[nodiscard]] ConstMat mat() const { return *this; }
  [[nodiscard]] float at(size_t r, size_t c) const { return values_[r * stride_ + c]; }
  float& at(size_t r, size_t c) { return values_[r * stride_ + c]; }
  float* data() { return values_.data(); }
  [[nodiscard]] const float* data() const { return values_.data(); }
  std::vector<float>& values() { return values_; }
  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t cols() const { return cols_; }
  [[nodiscard]] bool operator==(const TestMat& other) const {
    return values_.size() == other.values_.size() &&
           (values_.empty() ||
            std::memcmp(values_.data(), other.values_.data(), 4 * values_.size()) == 0);
  }

 private:
  std::vector<float> values_;
  size_t rows_, cols_, stride_;
};

/// run(context) must give the same matrix on 1 to 4 and 8 threads.
template <typename Run>
void expect_same_on_all_threads(const Run& run) {
  OpsContext one(1);
  const TestMat want = run(one);
  for (const size_t threads : {2, 3, 4, 8}) {
    OpsContext many(threads);
    EXPECT_TRUE(run(many) == want) << threads << " threads";
  }
}

}  // namespace rill::test
