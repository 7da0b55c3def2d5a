// SPDX-License-Identifier: Apache-2.0
// Convolutions: the LFM2 short conv, the conformer's depthwise conv, and the strided 3x3 convs of
// the subsampling. Each output is one FMA chain over its taps in row-major order (docs/numerics.md,
// rule 5); taps outside the input count as zeros and take part in the chain.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace rill::ops {

/// The longest kernel that short_conv and depthwise_conv1d take; loaders refuse longer ones.
inline constexpr size_t kMaxConvKernel = 1024;

/// LFM2's gated short convolution between in_proj and out_proj.
///   u = b * x;  y[t, c] = gate[t, c] * (sum_m weight[m, c] * u[t - (L-1) + m, c] (+ bias[c]))
/// Shapes: bcx [T, 3D] holds b, gate and x as thirds; weight [L, D], tap by tap; bias [D] or
///         nullptr; out [T, D];
///         state [L-1, D]: the last L-1 rows of u before this call, oldest first; updated.
/// u_out, conv_out: [T, D] taps for verification, or data == nullptr.
/// Errors: kOutOfMemory (scratch).
/// Source: transformers modeling_lfm2, Lfm2ShortConv.
struct ShortConvArgs {
  const float* weight = nullptr;
  const float* bias = nullptr;
  size_t kernel = 0;  ///< L
};
Status short_conv(Context& context, ConstMat bcx, const ShortConvArgs& args, Mat state, Mat out,
                  Mat u_out = {}, Mat conv_out = {});

/// Depthwise convolution over time, zero padding (K-1)/2 on both sides, then an affine map per
/// channel:
///   out[t, c] = fma(conv(x)[t, c] + bias[c], scale[c], shift[c])
/// Shapes: x, out [T, D] (distinct), weight [D, K]; bias, scale, shift [D].
void depthwise_conv1d(Context& context, ConstMat x, const float* weight, size_t kernel,
                      const float* bias, const float* scale, const float* shift, Mat out);

/// An image [height, width, channels], channels contiguous.
struct ImageShape {
  size_t height = 0;
  size_t width = 0;
  size_t channels = 0;
};

/// 3x3 convolution with stride 2 and padding 1 of a one-channel image, as rows of patches for
/// ops::matmul. Shapes: image [height, width]; patches [H2 * W2, 9] with H2 = ceil(height / 2), W2
/// = ceil(width / 2).
void im2col_3x3_stride2(Context& context, ConstMat image, Mat patches);

/// Depthwise 3x3 convolution with stride 2 and padding 1: out[y, x, c] = chain over the 9 taps +
/// bias[c]. Shapes: image shape.height * shape.width rows of shape.channels; weight [C, 9]; out [H2
/// * W2, C].
void depthwise_conv2d_3x3_stride2(Context& context, ConstMat image, const ImageShape& shape,
                                  const float* weight, const float* bias, Mat out);

}  // namespace rill::ops
