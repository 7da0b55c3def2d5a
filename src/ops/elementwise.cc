// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

/// Calls fn(row, first_column, columns) for pieces of a [rows, cols] matrix of about `grain`
/// values.
template <typename Fn>
void for_pieces(Context& context, size_t rows, size_t cols, size_t grain, const Fn& fn) {
  if (cols == 0) return;
  if (cols < 2 * grain) {
    parallel_ranges(context, rows, cols, grain, [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) fn(r, 0, cols);
    });
    return;
  }
  const size_t pieces = (cols + grain - 1) / grain;
  context.pool->parallel_for(rows * pieces, [&](size_t task) {
    const size_t first = task % pieces * grain;
    fn(task / pieces, first, std::min(grain, cols - first));
  });
}

void check_same_shape(ConstMat a, ConstMat b) {
  RILL_CHECK(a.rows == b.rows && a.cols == b.cols, "elementwise op: shapes differ");
}

/// Applies a kernel of the form f(x, size, out).
template <typename Kernel>
void map(Context& context, Kernel* kernel, size_t grain, ConstMat x, Mat out) {
  check_same_shape(x, out);
  for_pieces(context, x.rows, x.cols, grain, [&](size_t r, size_t first, size_t count) {
    kernel(x.row(r) + first, count, out.row(r) + first);
  });
}

}  // namespace

void rms_norm(Context& context, ConstMat x, const float* weight, float eps, Mat out) {
  rms_norm_heads(context, x, 1, weight, eps, out);
}

void rms_norm_heads(Context& context, ConstMat x, size_t num_heads, const float* weight, float eps,
                    Mat out) {
  check_same_shape(x, out);
  RILL_CHECK(num_heads > 0 && x.cols % num_heads == 0,
             "rms_norm: columns are not a multiple of the heads");
  const size_t head_dim = x.cols / num_heads;
  parallel_ranges(context, x.rows, x.cols, kLightGrain, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      for (size_t c = 0; c < x.cols; c += head_dim) {
        context.kernels->rms_norm(x.row(r) + c, weight, eps, head_dim, out.row(r) + c);
      }
    }
  });
}

void layer_norm(Context& context, ConstMat x, const float* weight, const float* bias, float eps,
                Mat out) {
  check_same_shape(x, out);
  parallel_ranges(context, x.rows, x.cols, kLightGrain, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      context.kernels->layer_norm(x.row(r), weight, bias, eps, x.cols, out.row(r));
    }
  });
}

void add_scaled(Context& context, ConstMat x, float alpha, Mat y) {
  check_same_shape(x, y);
  for_pieces(context, x.rows, x.cols, kLightGrain, [&](size_t r, size_t first, size_t count) {
    context.kernels->add_scaled(x.row(r) + first, alpha, count, y.row(r) + first);
  });
}

void silu_mul(Context& context, ConstMat gate, ConstMat up, Mat out) {
  check_same_shape(gate, out);
  check_same_shape(up, out);
  for_pieces(context, out.rows, out.cols, kHeavyGrain, [&](size_t r, size_t first, size_t count) {
    context.kernels->silu_mul(gate.row(r) + first, up.row(r) + first, count, out.row(r) + first);
  });
}

void silu(Context& context, ConstMat x, Mat out) {
  map(context, context.kernels->silu, kHeavyGrain, x, out);
}

void relu(Context& context, ConstMat x, Mat out) {
  map(context, context.kernels->relu, kLightGrain, x, out);
}

void gelu(Context& context, ConstMat x, Mat out) {
  map(context, context.kernels->gelu, kHeavyGrain, x, out);
}

void sigmoid(Context& context, ConstMat x, Mat out) {
  map(context, context.kernels->sigmoid, kHeavyGrain, x, out);
}

void glu(Context& context, ConstMat x, Mat out) {
  RILL_CHECK(x.rows == out.rows && x.cols == 2 * out.cols,
             "glu: the input must be twice as wide as the output");
  for_pieces(context, out.rows, out.cols, kHeavyGrain, [&](size_t r, size_t first, size_t count) {
    context.kernels->sigmoid_mul(x.row(r) + first, x.row(r) + out.cols + first, count,
                                 out.row(r) + first);
  });
}

size_t argmax(std::span<const float> values) {
  RILL_CHECK(!values.empty(), "argmax of nothing");
  // Independent maxima, which the compiler keeps in vectors; then the first place of the largest.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> largest;
  largest.fill(-std::numeric_limits<float>::infinity());
  const auto take = [&](size_t i, size_t lane) {
    largest[lane] = values[i] > largest[lane] ? values[i] : largest[lane];
  };
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(i + lane, lane);
  }
  for (; i < values.size(); ++i) take(i, 0);
  const float best = *std::max_element(largest.begin(), largest.end());
  const auto place = std::find(values.begin(), values.end(), best);
  return place == values.end() ? 0 : static_cast<size_t>(place - values.begin());
}

bool all_finite(Context& context, ConstMat x) {
  std::atomic<bool> finite{true};
  for_pieces(context, x.rows, x.cols, kLightGrain, [&](size_t r, size_t first, size_t count) {
    if (context.kernels->all_finite(x.row(r) + first, count) == 0)
      finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace rill::ops
