// SPDX-License-Identifier: Apache-2.0
// Activation quantization with AVX-512: half a block is one register.
#include <immintrin.h>

#include "kernels/quantize_activations/quantize_activations_block.h"

namespace rill::kernels {
namespace {

struct Avx512 {
  static uint32_t largest_bits(const float* x) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), magnitude);
    const __m512i b = _mm512_and_si512(_mm512_loadu_si512(x + 16), magnitude);
    return static_cast<uint32_t>(_mm512_reduce_max_epi32(_mm512_max_epi32(a, b)));
  }
  static void quantize(const float* x, float inverse, int8_t* q, int16_t* half_sums) {
    for (size_t half = 0; half < 2; ++half) {
      const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * half), _mm512_set1_ps(inverse));
      const __m512i rounded = _mm512_cvtps_epi32(scaled);  // to nearest, halves to even
      _mm_storeu_si128(reinterpret_cast<__m128i*>(q + 16 * half), _mm512_cvtepi32_epi8(rounded));
      half_sums[half] = static_cast<int16_t>(_mm512_reduce_add_epi32(rounded));
    }
  }
};

}  // namespace

void quantize_activations_avx512(const float* x, size_t cols, ActivationChunk* out,
                                 size_t out_stride) {
  quantize_row<Avx512>(x, cols, out, out_stride);
}

}  // namespace rill::kernels
