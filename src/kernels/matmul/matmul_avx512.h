// SPDX-License-Identifier: Apache-2.0
// The AVX-512 instructions of matmul_tile.h: one register is 16 rows (F32, int32) or 16 rows of
// four quants. With AVX512_VNNI the integer dot product is one instruction.
#pragma once

#include <immintrin.h>

#include "kernels/matmul/matmul_tile.h"

namespace rill::kernels {
namespace {

struct Avx512 {
  using F32 = __m512;
  using I32 = __m512i;
  using U8 = __m512i;  // [16 rows][4 columns]
  using X = __m512i;   // four activations, 16 times

  // Tile sizes: 12 sums, 12 chunk values, 2 weights, scales and constants fill the 32 registers.
  static constexpr int kTilePanels = 2;
  static constexpr int kTileTokens = 6;
  static constexpr int kHalvesTokens = 4;  // two sums for each output
  // 24 sums. Rows of activations often lie a multiple of 4 KiB apart: more than 8 at once would
  // not fit into one set of a first cache level with 8 ways.
  static constexpr int kPlainTilePanels = 4;
  static constexpr int kPlainTileTokens = 6;
  // Few tokens.
  static constexpr int kDirectTokens = 4;
  static constexpr int kDirectPanels = 4;
  static constexpr int kPlainDirectPanels = 4;

  static RILL_INLINE F32 zero_f32() { return _mm512_setzero_ps(); }
  static RILL_INLINE F32 set_f32(float x) { return _mm512_set1_ps(x); }
  static RILL_INLINE F32 load_f32(const float* p) { return _mm512_loadu_ps(p); }
  static RILL_INLINE void store_f32(float* p, F32 v) { _mm512_storeu_ps(p, v); }
  static RILL_INLINE F32 mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
  static RILL_INLINE F32 add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
  static RILL_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
  // -(a * b) + c
  static RILL_INLINE F32 fnma(F32 a, F32 b, F32 c) { return _mm512_fnmadd_ps(a, b, c); }
  static RILL_INLINE F32 to_f32(I32 v) { return _mm512_cvtepi32_ps(v); }
  static RILL_INLINE F32 load_half(const uint8_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static RILL_INLINE F32 load_bf16(const uint8_t* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static RILL_INLINE F32 load_u8_f32(const uint8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }

  static RILL_INLINE I32 set_i32(int32_t x) { return _mm512_set1_epi32(x); }
  static RILL_INLINE I32 load_i32(const int32_t* p) { return _mm512_loadu_si512(p); }
  static RILL_INLINE void store_i32(int32_t* p, I32 v) { _mm512_storeu_si512(p, v); }
  static RILL_INLINE I32 load_i8_i32(const uint8_t* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RILL_INLINE I32 add_i32(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
  static RILL_INLINE I32 mul_i32(I32 a, I32 b) { return _mm512_mullo_epi32(a, b); }

  static RILL_INLINE U8 load_u8(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static RILL_INLINE void store_u8(uint8_t* p, U8 v) { _mm512_storeu_si512(p, v); }
  static RILL_INLINE U8 low_nibbles(U8 v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
  static RILL_INLINE U8 high_nibbles(U8 v) {
    return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
  }
  // Joins bit `group` of each plane byte above the nibbles.
  static RILL_INLINE U8 add_bit(U8 nibbles, U8 plane, int group) {
    U8 bits = plane;  // the bit at place 4
    switch (group) {
      case 0:
        bits = _mm512_slli_epi16(plane, 4);
        break;
      case 1:
        bits = _mm512_slli_epi16(plane, 3);
        break;
      case 2:
        bits = _mm512_slli_epi16(plane, 2);
        break;
      case 3:
        bits = _mm512_slli_epi16(plane, 1);
        break;
      case 5:
        bits = _mm512_srli_epi16(plane, 1);
        break;
      case 6:
        bits = _mm512_srli_epi16(plane, 2);
        break;
      case 7:
        bits = _mm512_srli_epi16(plane, 3);
        break;
      default:
        break;
    }
    return _mm512_or_si512(nibbles, _mm512_and_si512(bits, _mm512_set1_epi8(0x10)));
  }
  // Joins bits 2i, 2i + 1 of each plane byte above the nibbles.
  static RILL_INLINE U8 add_two_bits(U8 nibbles, U8 plane, int i) {
    U8 bits = plane;  // the bits at places 4 and 5
    switch (i) {
      case 0:
        bits = _mm512_slli_epi16(plane, 4);
        break;
      case 1:
        bits = _mm512_slli_epi16(plane, 2);
        break;
      case 3:
        bits = _mm512_srli_epi16(plane, 2);
        break;
      default:
        break;
    }
    return _mm512_or_si512(nibbles, _mm512_and_si512(bits, _mm512_set1_epi8(0x30)));
  }

  static RILL_INLINE X broadcast(const int8_t* q) {
    int32_t four = 0;
    memcpy(&four, q, 4);
    return _mm512_set1_epi32(four);
  }
#if defined(__AVX512VNNI__)
  static constexpr int kByteZeroPoint = 128;  // dot_bytes takes the bytes as they are stored
  static RILL_INLINE I32 dot_bytes(I32 acc, U8 w, X x) { return _mm512_dpbusd_epi32(acc, w, x); }
  static RILL_INLINE I32 dot_small(I32 acc, U8 w, X x) { return _mm512_dpbusd_epi32(acc, w, x); }
#else
  static constexpr int kByteZeroPoint = 0;  // dot_bytes takes 128 off itself
  // |w| <= 128 times the activation with w's sign: pairs of products stay below 2^15.
  static RILL_INLINE I32 dot_bytes(I32 acc, U8 w, X x) {
    const __m512i value = _mm512_xor_si512(w, _mm512_set1_epi8(-128));
    const __m512i signed_x =
        _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(value), _mm512_setzero_si512(), x);
    return dot_small(acc, _mm512_abs_epi8(value), signed_x);
  }
  // Weights below 128: pairs of products stay below 2^15.
  static RILL_INLINE I32 dot_small(I32 acc, U8 w, X x) {
    return _mm512_add_epi32(acc,
                            _mm512_madd_epi16(_mm512_maddubs_epi16(w, x), _mm512_set1_epi16(1)));
  }
#endif
  // out[b] = factor * the sum of block b's activations.
  static RILL_INLINE void block_sums(const int16_t* half_sums, int factor, int32_t* out) {
    const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(half_sums));
    const __m256i scaled = _mm256_madd_epi16(sums, _mm256_set1_epi16(static_cast<int16_t>(factor)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), scaled);
  }
  // out[h] = factor * half sum h.
  static RILL_INLINE void half_sums(const int16_t* half_sums, int factor, int32_t* out) {
    const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(half_sums));
    _mm512_storeu_si512(out,
                        _mm512_mullo_epi32(_mm512_cvtepi16_epi32(sums), _mm512_set1_epi32(factor)));
  }
};

}  // namespace
}  // namespace rill::kernels
