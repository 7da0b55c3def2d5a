// SPDX-License-Identifier: Apache-2.0
#include "ops/conv.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

// Channels that one task takes: a few cache lines of each row.
constexpr size_t kSliceChannels = 128;
// Room for the weights of a slice, tap by tap, on the stack.
constexpr size_t kSliceWeights = 4096;
static_assert(kSliceWeights >= kMaxConvKernel);

constexpr std::array<float, kSliceChannels> kZeroRow{};

/// Channels per task such that their weights fit the stack buffer.
size_t slice_channels(size_t taps) { return std::min(kSliceChannels, kSliceWeights / taps); }

/// A range of channels with its weights as [tap, channel].
struct Slice {
  /// weight: [total_channels, taps].
  Slice(const float* weight, size_t taps, size_t total_channels, size_t index)
      : Slice(taps, total_channels, index) {
    for (size_t c = 0; c < size; ++c) {
      for (size_t tap = 0; tap < taps; ++tap)
        by_tap[tap * size + c] = weight[(first + c) * taps + tap];
    }
  }
  /// weight: [taps, total_channels].
  static Slice of_taps(const float* weight, size_t taps, size_t total_channels, size_t index) {
    Slice slice(taps, total_channels, index);
    for (size_t tap = 0; tap < taps; ++tap) {
      std::copy_n(weight + tap * total_channels + slice.first, slice.size,
                  slice.by_tap.data() + tap * slice.size);
    }
    return slice;
  }
  static size_t count(size_t taps, size_t total_channels) {
    return (total_channels + slice_channels(taps) - 1) / slice_channels(taps);
  }

  size_t first;
  size_t size;
  std::array<float, kSliceWeights> by_tap;

 private:
  Slice(size_t taps, size_t total_channels, size_t index)
      : first(index * slice_channels(taps)),
        size(std::min(slice_channels(taps), total_channels - first)) {}
};

/// The slice's part of a per-channel vector that may be absent.
const float* part(const float* values, const Slice& slice) {
  return values == nullptr ? nullptr : values + slice.first;
}
float* part(Mat rows, size_t r, const Slice& slice) {
  return rows.data == nullptr ? nullptr : rows.row(r) + slice.first;
}

/// The short conv of one slice of channels. ring [L, size] holds the last L rows of u: row t % L is
/// u[t].
struct ShortConvSlice {
  Context& context;
  ConstMat bcx;
  const ShortConvArgs& args;
  const Slice& slice;
  float* ring;

  float* ring_row(size_t time) const { return ring + time % args.kernel * slice.size; }

  void run(Mat state, Mat out, Mat u_out, Mat conv_out) const {
    const size_t channels = bcx.cols / 3;
    const size_t history = args.kernel - 1;
    // Times count from the oldest state row, so that row t of this call is time t + L - 1.
    for (size_t i = 0; i < history; ++i)
      std::copy_n(state.row(i) + slice.first, slice.size, ring_row(i));
    std::array<const float*, kMaxConvKernel> rows;
    kernels::DepthwiseArgs taps{};
    taps.rows = rows.data();
    taps.weight = slice.by_tap.data();
    taps.taps = args.kernel;
    taps.size = slice.size;
    taps.bias = part(args.bias, slice);
    for (size_t t = 0; t < bcx.rows; ++t) {
      const float* b = bcx.row(t) + slice.first;
      float* u = ring_row(t + history);
      context.kernels->multiply(b, b + 2 * channels, slice.size, u);
      for (size_t m = 0; m < args.kernel; ++m) rows[m] = ring_row(t + m);
      taps.gate = b + channels;
      taps.conv_out = part(conv_out, t, slice);
      context.kernels->depthwise(taps, out.row(t) + slice.first);
      if (u_out.data != nullptr) std::copy_n(u, slice.size, u_out.row(t) + slice.first);
    }
    for (size_t i = 0; i < history; ++i) {
      std::copy_n(ring_row(bcx.rows + i), slice.size, state.row(i) + slice.first);
    }
  }
};

}  // namespace

Status short_conv(Context& context, ConstMat bcx, const ShortConvArgs& args, Mat state, Mat out,
                  Mat u_out, Mat conv_out) {
  const size_t channels = out.cols;
  RILL_CHECK(args.kernel > 0 && args.kernel <= kMaxConvKernel, "short_conv: kernel length");
  RILL_CHECK(bcx.cols == 3 * channels && out.rows == bcx.rows, "short_conv: shapes");
  RILL_CHECK(state.rows == args.kernel - 1 && (state.rows == 0 || state.cols == channels),
             "short_conv: state shape");
  if (bcx.rows == 0 || channels == 0) return {};
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(std::span<float> rings,
                        context.scratch->take<float>(args.kernel * channels));
  const size_t slices = Slice::count(args.kernel, channels);
  const auto run_slices = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Slice slice = Slice::of_taps(args.weight, args.kernel, channels, i);
      float* ring = rings.data() + args.kernel * slice.first;
      ShortConvSlice{context, bcx, args, slice, ring}.run(state, out, u_out, conv_out);
    }
  };
  parallel_ranges(context, slices, bcx.rows * kSliceChannels, kHeavyGrain, run_slices);
  return {};
}

void depthwise_conv1d(Context& context, ConstMat x, const float* weight, size_t kernel,
                      const float* bias, const float* scale, const float* shift, Mat out) {
  RILL_CHECK(kernel % 2 == 1 && kernel <= kMaxConvKernel, "depthwise_conv1d: kernel length");
  RILL_CHECK(x.rows == out.rows && x.cols == out.cols && x.data != out.data,
             "depthwise_conv1d: shapes");
  constexpr size_t kRowsPerTask = 64;
  const size_t slices = Slice::count(kernel, x.cols);
  const size_t row_blocks = (x.rows + kRowsPerTask - 1) / kRowsPerTask;
  const size_t padding = (kernel - 1) / 2;
  context.pool->parallel_for(row_blocks * slices, [&](size_t task) {
    const Slice slice(weight, kernel, x.cols, task % slices);
    std::array<const float*, kMaxConvKernel> rows;
    kernels::DepthwiseArgs taps{};
    taps.rows = rows.data();
    taps.weight = slice.by_tap.data();
    taps.taps = kernel;
    taps.size = slice.size;
    taps.bias = part(bias, slice);
    taps.scale = part(scale, slice);
    taps.shift = part(shift, slice);
    const size_t begin = task / slices * kRowsPerTask;
    const size_t end = std::min(x.rows, begin + kRowsPerTask);
    for (size_t t = begin; t < end; ++t) {
      for (size_t k = 0; k < kernel; ++k) {
        const bool inside = t + k >= padding && t + k - padding < x.rows;
        rows[k] = inside ? x.row(t + k - padding) + slice.first : kZeroRow.data();
      }
      context.kernels->depthwise(taps, out.row(t) + slice.first);
    }
  });
}

void im2col_3x3_stride2(Context& context, ConstMat image, Mat patches) {
  const size_t out_height = (image.rows + 1) / 2;
  const size_t out_width = (image.cols + 1) / 2;
  RILL_CHECK(patches.rows == out_height * out_width && patches.cols == 9, "im2col: shapes");
  parallel_ranges(context, out_height, out_width * 9, kLightGrain, [&](size_t begin, size_t end) {
    for (size_t y = begin; y < end; ++y) {
      for (size_t x = 0; x < out_width; ++x) {
        float* patch = patches.row(y * out_width + x);
        for (size_t tap = 0; tap < 9; ++tap) {
          // Padding of one: tap (0, 0) of output (0, 0) is pixel (-1, -1), which wraps to a huge
          // index.
          const size_t row = 2 * y + tap / 3 - 1;
          const size_t col = 2 * x + tap % 3 - 1;
          patch[tap] = row < image.rows && col < image.cols ? image.row(row)[col] : 0.0f;
        }
      }
    }
  });
}

void depthwise_conv2d_3x3_stride2(Context& context, ConstMat image, const ImageShape& shape,
                                  const float* weight, const float* bias, Mat out) {
  const size_t out_height = (shape.height + 1) / 2;
  const size_t out_width = (shape.width + 1) / 2;
  RILL_CHECK(image.rows == shape.height * shape.width && image.cols == shape.channels,
             "depthwise_conv2d: input shape");
  RILL_CHECK(out.rows == out_height * out_width && out.cols == shape.channels,
             "depthwise_conv2d: output shape");
  constexpr size_t kTaps = 9;
  const size_t slices = Slice::count(kTaps, shape.channels);
  // A row of output pixels per task.
  context.pool->parallel_for(out_height * slices, [&](size_t task) {
    const Slice slice(weight, kTaps, shape.channels, task % slices);
    std::array<const float*, kTaps> rows;
    kernels::DepthwiseArgs taps{};
    taps.rows = rows.data();
    taps.weight = slice.by_tap.data();
    taps.taps = kTaps;
    taps.size = slice.size;
    taps.bias = part(bias, slice);
    const size_t y = task / slices;
    for (size_t x = 0; x < out_width; ++x) {
      for (size_t tap = 0; tap < kTaps; ++tap) {
        const size_t row = 2 * y + tap / 3 - 1;
        const size_t col = 2 * x + tap % 3 - 1;
        const bool inside = row < shape.height && col < shape.width;
        rows[tap] = inside ? image.row(row * shape.width + col) + slice.first : kZeroRow.data();
      }
      context.kernels->depthwise(taps, out.row(y * out_width + x) + slice.first);
    }
  });
}

}  // namespace rill::ops
