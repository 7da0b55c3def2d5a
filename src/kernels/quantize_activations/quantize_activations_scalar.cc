// SPDX-License-Identifier: Apache-2.0
// The definition of activation quantization.
#include <math.h>

#include "kernels/quantize_activations/quantize_activations.h"

namespace rill::kernels {
namespace {

// Adding and subtracting 1.5 * 2^23 rounds |x| < 2^22 to the nearest integer, halves to even.
int round_half_even(float x) {
  constexpr float kMagic = 12582912.0f;
  return static_cast<int>((x + kMagic) - kMagic);
}

void quantize_block(const float* x, int8_t* q, float* scale, int16_t* half_sums) {
  float largest = 0;
  bool finite = true;
  for (size_t i = 0; i < 32; ++i) {
    finite = finite && fabsf(x[i]) < INFINITY;
    largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
  }
  const float inverse = 127.0f / largest;
  const bool usable = finite && inverse < INFINITY;
  *scale = usable ? largest / 127.0f : 0.0f;
  if (!finite) *scale = NAN;
  for (size_t half = 0; half < 2; ++half) {
    int sum = 0;
    for (size_t i = 16 * half; i < 16 * half + 16; ++i) {
      const int value = usable ? round_half_even(x[i] * inverse) : 0;
      q[i] = static_cast<int8_t>(value);
      sum += value;
    }
    half_sums[half] = static_cast<int16_t>(sum);
  }
}

}  // namespace

void quantize_activations_scalar(const float* x, size_t cols, ActivationChunk* out,
                                 size_t out_stride) {
  for (size_t block = 0; block < cols / 32; ++block) {
    ActivationChunk& chunk = out[block / 8 * out_stride];
    const size_t b = block % 8;
    quantize_block(x + 32 * block, chunk.q + 32 * b, &chunk.scale[b], &chunk.half_sums[2 * b]);
  }
}

}  // namespace rill::kernels
