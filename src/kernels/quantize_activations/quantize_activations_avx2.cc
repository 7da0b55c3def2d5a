// SPDX-License-Identifier: Apache-2.0
// Activation quantization with AVX2: half a block is two registers.
#include <immintrin.h>

#include "kernels/quantize_activations/quantize_activations_block.h"

namespace rill::kernels {
namespace {

struct Avx2 {
  static uint32_t largest_bits(const float* x) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();
    for (size_t i = 0; i < 32; i += 8) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
      largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, magnitude));
    }
    __m128i four =
        _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
  }
  static void quantize(const float* x, float inverse, int8_t* q, int16_t* half_sums) {
    for (size_t half = 0; half < 2; ++half) {
      const __m256 factor = _mm256_set1_ps(inverse);
      const __m256 low = _mm256_mul_ps(_mm256_loadu_ps(x + 16 * half), factor);
      const __m256 high = _mm256_mul_ps(_mm256_loadu_ps(x + 16 * half + 8), factor);
      // Rounded to nearest, halves to even. Packing works within 128-bit lanes: the quarters are
      // put in order after.
      const __m256i mixed = _mm256_packs_epi32(_mm256_cvtps_epi32(low), _mm256_cvtps_epi32(high));
      const __m256i words = _mm256_permute4x64_epi64(mixed, 0xd8);
      const __m128i first = _mm256_castsi256_si128(words);
      const __m128i second = _mm256_extracti128_si256(words, 1);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(q + 16 * half), _mm_packs_epi16(first, second));
      __m128i sums = _mm_madd_epi16(_mm_add_epi16(first, second), _mm_set1_epi16(1));
      sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4e));
      sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xb1));
      half_sums[half] = static_cast<int16_t>(_mm_cvtsi128_si32(sums));
    }
  }
};

}  // namespace

void quantize_activations_avx2(const float* x, size_t cols, ActivationChunk* out,
                               size_t out_stride) {
  quantize_row<Avx2>(x, cols, out, out_stride);
}

}  // namespace rill::kernels
