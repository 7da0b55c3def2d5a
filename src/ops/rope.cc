// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"

#include "base/check.h"
#include "base/det_math.h"
#include "kernels/kernel_table.h"
#include "ops/parallel.h"

namespace rill::ops {

std::vector<float> rope_inv_freq(size_t head_dim, double theta) {
  std::vector<float> inv_freq(head_dim / 2);
  for (size_t j = 0; j < inv_freq.size(); ++j) {
    // The reference: 1.0 / base ** (arange(0, dim, 2).float() / dim), each step rounded to F32.
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(head_dim);
    const auto power = static_cast<float>(det::pow(theta, static_cast<double>(exponent)));
    inv_freq[j] = 1.0f / power;
  }
  return inv_freq;
}

void rope_table(std::span<const float> inv_freq, size_t first_position, Mat cos_sin) {
  const size_t half = inv_freq.size();
  RILL_CHECK(cos_sin.cols == 2 * half, "rope_table: the table must have head_dim columns");
  for (size_t t = 0; t < cos_sin.rows; ++t) {
    const auto position = static_cast<float>(first_position + t);
    float* row = cos_sin.row(t);
    for (size_t j = 0; j < half; ++j) {
      const float angle = position * inv_freq[j];
      const det::SinCos turn = det::sin_cos(static_cast<double>(angle));
      row[j] = static_cast<float>(turn.cos);
      row[half + j] = static_cast<float>(turn.sin);
    }
  }
}

void rope(Context& context, RopeLayout layout, ConstMat cos_sin, size_t num_heads, Mat x) {
  RILL_CHECK(cos_sin.rows == x.rows && cos_sin.cols * num_heads == x.cols,
             "rope: shapes do not match");
  auto* kernel =
      layout == RopeLayout::kHalf ? context.kernels->rope_half : context.kernels->rope_pair;
  parallel_ranges(context, x.rows, x.cols, kLightGrain, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) kernel(cos_sin.row(t), cos_sin.cols, num_heads, x.row(t));
  });
}

}  // namespace rill::ops
