// SPDX-License-Identifier: Apache-2.0
// Contracts of the quantize_activations kernels. Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

/// 256 activations of one row, quantized in blocks of 32 (docs/numerics.md, rule 3).
struct ActivationChunk {
  int8_t q[256];          ///< -127..127
  float scale[8];         ///< s of each block
  int16_t half_sums[16];  ///< exact sums of 16 quants; a block's S is the sum of its two
};

/// Quantizes one row of `cols` values (a multiple of 32): for each block m = max|x|, scale = m /
/// 127, q = round_half_even(x * (127 / m)). A block in which 127 / m overflows (m = 0, or below
/// 4e-37) is all zero with scale 0. A block with an infinity or NaN has quants 0 and scale NaN, so
/// that every product with it is NaN. Chunk c goes to out[c * out_stride]; of a last, shorter chunk
/// only its whole blocks are written.
using quantize_activations_fn = void(const float* x, size_t cols, ActivationChunk* out,
                                     size_t out_stride);

}  // namespace rill::kernels
