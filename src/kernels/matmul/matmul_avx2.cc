// SPDX-License-Identifier: Apache-2.0
// Matrix products with AVX2, FMA and F16C: matmul_tile.h with 16 rows in two registers.
#include <immintrin.h>

#include "kernels/matmul/matmul_tile.h"

namespace rill::kernels {
namespace {

struct Avx2 {
  struct F32 {
    __m256 low, high;
  };
  struct I32 {
    __m256i low, high;
  };
  using U8 = I32;     // [16 rows][4 columns]
  using X = __m256i;  // four activations, 8 times

  // Tile sizes, for 16 registers.
  static constexpr int kTilePanels = 1;
  static constexpr int kTileTokens = 2;
  static constexpr int kHalvesTokens = 2;
  static constexpr int kPlainTilePanels = 1;
  static constexpr int kPlainTileTokens = 6;
  // Few tokens.
  static constexpr int kDirectTokens = 4;
  static constexpr int kDirectPanels = 2;
  static constexpr int kPlainDirectPanels = 2;

  static RILL_INLINE F32 zero_f32() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static RILL_INLINE F32 set_f32(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static RILL_INLINE F32 load_f32(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
  }
  static RILL_INLINE void store_f32(float* p, F32 v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
  }
  static RILL_INLINE F32 mul(F32 a, F32 b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static RILL_INLINE F32 add(F32 a, F32 b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static RILL_INLINE F32 fma(F32 a, F32 b, F32 c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  // -(a * b) + c
  static RILL_INLINE F32 fnma(F32 a, F32 b, F32 c) {
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
  }
  static RILL_INLINE F32 to_f32(I32 v) {
    return {_mm256_cvtepi32_ps(v.low), _mm256_cvtepi32_ps(v.high)};
  }
  static RILL_INLINE F32 load_half(const uint8_t* p) {
    const auto* halves = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
  }
  static RILL_INLINE F32 load_bf16(const uint8_t* p) {
    const auto* words = reinterpret_cast<const __m128i*>(p);
    return {widen_bf16(_mm_loadu_si128(words)), widen_bf16(_mm_loadu_si128(words + 1))};
  }
  static RILL_INLINE F32 load_u8_f32(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return to_f32({_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))});
  }

  static RILL_INLINE I32 set_i32(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static RILL_INLINE I32 load_i32(const int32_t* p) { return {load(p), load(p + 8)}; }
  static RILL_INLINE void store_i32(int32_t* p, I32 v) {
    store(p, v.low);
    store(p + 8, v.high);
  }
  static RILL_INLINE I32 load_i8_i32(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
  }
  static RILL_INLINE I32 add_i32(I32 a, I32 b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
  }
  static RILL_INLINE I32 mul_i32(I32 a, I32 b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
  }

  static RILL_INLINE U8 load_u8(const uint8_t* p) { return {load(p), load(p + 32)}; }
  static RILL_INLINE void store_u8(uint8_t* p, U8 v) {
    store(p, v.low);
    store(p + 32, v.high);
  }
  static RILL_INLINE U8 low_nibbles(U8 v) { return and_bytes(v, 15); }
  static RILL_INLINE U8 high_nibbles(U8 v) {
    return and_bytes({_mm256_srli_epi16(v.low, 4), _mm256_srli_epi16(v.high, 4)}, 15);
  }
  // Joins bit `group` of each plane byte above the nibbles.
  static RILL_INLINE U8 add_bit(U8 nibbles, U8 plane, int group) {
    const U8 bits =
        and_bytes({shift_left(plane.low, 4 - group), shift_left(plane.high, 4 - group)}, 0x10);
    return {_mm256_or_si256(nibbles.low, bits.low), _mm256_or_si256(nibbles.high, bits.high)};
  }
  // Joins bits 2i, 2i + 1 of each plane byte above the nibbles.
  static RILL_INLINE U8 add_two_bits(U8 nibbles, U8 plane, int i) {
    const U8 bits =
        and_bytes({shift_left(plane.low, 4 - 2 * i), shift_left(plane.high, 4 - 2 * i)}, 0x30);
    return {_mm256_or_si256(nibbles.low, bits.low), _mm256_or_si256(nibbles.high, bits.high)};
  }

  static RILL_INLINE X broadcast(const int8_t* q) {
    int32_t four = 0;
    memcpy(&four, q, 4);
    return _mm256_set1_epi32(four);
  }
  static constexpr int kByteZeroPoint = 0;  // dot_bytes takes 128 off itself
  static RILL_INLINE I32 dot_bytes(I32 acc, U8 w, X x) {
    return {add_signed_dot(acc.low, w.low, x), add_signed_dot(acc.high, w.high, x)};
  }
  static RILL_INLINE I32 dot_small(I32 acc, U8 w, X x) {
    return {add_dot(acc.low, w.low, x), add_dot(acc.high, w.high, x)};
  }
  // out[b] = factor * the sum of block b's activations.
  static RILL_INLINE void block_sums(const int16_t* half_sums, int factor, int32_t* out) {
    store(out, _mm256_madd_epi16(load(half_sums), _mm256_set1_epi16(static_cast<int16_t>(factor))));
  }
  // out[h] = factor * half sum h.
  static RILL_INLINE void half_sums(const int16_t* half_sums, int factor, int32_t* out) {
    for (int h = 0; h < 16; ++h) out[h] = factor * half_sums[h];
  }

 private:
  static RILL_INLINE __m256i load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static RILL_INLINE void store(void* p, __m256i v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), v);
  }
  static RILL_INLINE __m256 widen_bf16(__m128i words) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
  }
  static RILL_INLINE U8 and_bytes(U8 v, char mask) {
    return {_mm256_and_si256(v.low, _mm256_set1_epi8(mask)),
            _mm256_and_si256(v.high, _mm256_set1_epi8(mask))};
  }
  // Bits cross byte borders; the caller masks them.
  static RILL_INLINE __m256i shift_left(__m256i v, int places) {
    switch (places) {
      case 4:
        return _mm256_slli_epi16(v, 4);
      case 3:
        return _mm256_slli_epi16(v, 3);
      case 2:
        return _mm256_slli_epi16(v, 2);
      case 1:
        return _mm256_slli_epi16(v, 1);
      case -1:
        return _mm256_srli_epi16(v, 1);
      case -2:
        return _mm256_srli_epi16(v, 2);
      case -3:
        return _mm256_srli_epi16(v, 3);
      default:
        return v;
    }
  }
  // Weights below 128: pairs of products stay below 2^15.
  static RILL_INLINE __m256i add_dot(__m256i acc, __m256i w, __m256i x) {
    return _mm256_add_epi32(acc,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1)));
  }
  // |w| <= 128 times the activation with w's sign: the same bound.
  static RILL_INLINE __m256i add_signed_dot(__m256i acc, __m256i w, __m256i x) {
    const __m256i value = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    return add_dot(acc, _mm256_abs_epi8(value), _mm256_sign_epi8(x, value));
  }
};

}  // namespace

RILL_DEFINE_MATMULS(avx2, Avx2)

}  // namespace rill::kernels
