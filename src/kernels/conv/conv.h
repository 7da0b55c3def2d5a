// SPDX-License-Identifier: Apache-2.0
// Contract of the depthwise convolution kernel: one output position of a slice of channels.
// Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

/// What one call computes; optional parts are nullptr.
struct DepthwiseArgs {
  const float* const* rows;  ///< [taps]: the input under each tap, `size` channels
  const float* weight;       ///< [taps, size], tap by tap
  size_t taps;
  size_t size;
  const float* bias;   ///< [size] or nullptr
  const float* scale;  ///< [size] or nullptr; with shift
  const float* shift;  ///< [size]
  const float* gate;   ///< [size] or nullptr
  float* conv_out;     ///< [size] or nullptr: the value before scale and gate
};

/// c = +0; for ascending taps c = fma(weight[tap, i], rows[tap][i], c); c = c + bias[i];
/// then c = fma(c, scale[i], shift[i]); then out[i] = gate[i] * c.
using depthwise_fn = void(const DepthwiseArgs& args, float* out);

}  // namespace rill::kernels
