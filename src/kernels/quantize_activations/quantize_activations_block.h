// SPDX-License-Identifier: Apache-2.0
// What the vector tiers of quantize_activations share: the factors of a block and the walk over a
// row.
#pragma once

#include <math.h>
#include <string.h>

#include "kernels/quantize_activations/quantize_activations.h"

namespace rill::kernels {
namespace {

struct BlockFactors {
  float inverse;  // 127 / m, or 0: every quant is 0
  float scale;
};

// Factors of a block whose largest magnitude has these bits. Bits of magnitudes order like the
// numbers, with infinity and NaN on top.
inline BlockFactors block_factors(uint32_t largest_bits) {
  if (largest_bits >= 0x7f800000) return {0.0f, NAN};
  float largest = 0;
  memcpy(&largest, &largest_bits, sizeof(largest));
  const float inverse = 127.0f / largest;
  if (!(inverse < INFINITY)) return {0.0f, 0.0f};
  return {inverse, largest / 127.0f};
}

// V::largest_bits(x): of 32 values. V::quantize(x, inverse, q, half_sums): 32 finite values.
template <class V>
void quantize_row(const float* x, size_t cols, ActivationChunk* out, size_t out_stride) {
  for (size_t block = 0; block < cols / 32; ++block) {
    ActivationChunk* chunk = out + block / 8 * out_stride;
    const size_t b = block % 8;
    const BlockFactors factors = block_factors(V::largest_bits(x + 32 * block));
    chunk->scale[b] = factors.scale;
    if (factors.inverse == 0.0f) {
      memset(chunk->q + 32 * b, 0, 32);
      memset(chunk->half_sums + 2 * b, 0, 2 * sizeof(int16_t));
    } else {
      V::quantize(x + 32 * block, factors.inverse, chunk->q + 32 * b, chunk->half_sums + 2 * b);
    }
  }
}

}  // namespace
}  // namespace rill::kernels
