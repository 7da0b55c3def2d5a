// SPDX-License-Identifier: Apache-2.0
// Vec: 16 floats, the unit in which docs/numerics.md counts lanes. AVX-512: one register.
// vec_avx2.h and vec_neon.h offer the same names; the *_simd.h bodies are written against them.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/unroll.h"

namespace rill::kernels {
namespace {

struct Vec {
  __m512 v;
};

RILL_INLINE __mmask16 first_lanes(size_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}

RILL_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
RILL_INLINE Vec set1(float x) { return {_mm512_set1_ps(x)}; }
RILL_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
RILL_INLINE void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
/// The first count <= 16 values; the other lanes are +0.
RILL_INLINE Vec load_first(const float* p, size_t count) {
  return {_mm512_maskz_loadu_ps(first_lanes(count), p)};
}
RILL_INLINE void store_first(float* p, Vec a, size_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), a.v);
}
/// a with every lane past the first `count` set to +0.
RILL_INLINE Vec keep_first(Vec a, size_t count) {
  return {_mm512_maskz_mov_ps(first_lanes(count), a.v)};
}

RILL_INLINE Vec add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
RILL_INLINE Vec sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
RILL_INLINE Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
RILL_INLINE Vec div(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
/// a * b + c, rounded once.
RILL_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
/// -(a * b) + c, rounded once.
RILL_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
/// a > b ? a : b, so b if either is NaN.
RILL_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
/// a < b ? a : b, so b if either is NaN.
RILL_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
RILL_INLINE Vec negative_abs(Vec a) { return {_mm512_or_ps(a.v, _mm512_set1_ps(-0.0f))}; }
/// x < 0 ? a : b
RILL_INLINE Vec where_negative(Vec x, Vec a, Vec b) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(x.v, _mm512_setzero_ps(), _CMP_LT_OQ), b.v, a.v)};
}
/// x <= 0 ? a : b
RILL_INLINE Vec where_not_positive(Vec x, Vec a, Vec b) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(x.v, _mm512_setzero_ps(), _CMP_LE_OQ), b.v, a.v)};
}

/// 2^n of each lane, to multiply by. n is a whole number with bits(t) - bits(magic) = n.
struct Power {
  __m512 n;
};
RILL_INLINE Power power_of_two(Vec n, Vec /*t*/, uint32_t /*magic_bits*/) { return {n.v}; }
/// x * 2^n, rounded once; elsewhere x * 2^h * 2^(n - h), where only the second product rounds.
RILL_INLINE Vec times(Vec x, Power power) { return {_mm512_scalef_ps(x.v, power.n)}; }

/// Adds the lanes: by 8, 4, 2, 1.
RILL_INLINE float fold(Vec a) {
  const __m256 by8 = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
/// The largest lane.
RILL_INLINE float max_lane(Vec a) {
  const __m256 by8 = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}

/// Lane i of the result is fold(a[i]). Pairs of vectors are folded side by side: each step adds the
/// halves of the remaining groups of lanes of two vectors and leaves both results in one.
RILL_INLINE Vec fold_each(const Vec (&a)[16]) {
  __m512 by8[8];
  __m512 by4[4];
  __m512 by2[2];
  // by8[i]: 8 sums of a[i] in the low half, 8 of a[i + 8] in the high half.
  RILL_UNROLL
  for (int i = 0; i < 8; ++i) {
    by8[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[i].v, a[i + 8].v, 0x44),
                           _mm512_shuffle_f32x4(a[i].v, a[i + 8].v, 0xEE));
  }
  // by4[i]: 128-bit groups of a[i], a[i + 4], a[i + 8], a[i + 12].
  RILL_UNROLL
  for (int i = 0; i < 4; ++i) {
    by4[i] = _mm512_add_ps(_mm512_shuffle_f32x4(by8[i], by8[i + 4], 0x88),
                           _mm512_shuffle_f32x4(by8[i], by8[i + 4], 0xDD));
  }
  // Groups stand in the order i, i + 8, i + 4, i + 12 from here on; each step splits groups within
  // 128 bits.
  RILL_UNROLL
  for (int i = 0; i < 2; ++i) {
    by2[i] = _mm512_add_ps(_mm512_shuffle_ps(by4[i], by4[i + 2], 0x44),
                           _mm512_shuffle_ps(by4[i], by4[i + 2], 0xEE));
  }
  const __m512 sums = _mm512_add_ps(_mm512_shuffle_ps(by2[0], by2[1], 0x88),
                                    _mm512_shuffle_ps(by2[0], by2[1], 0xDD));
  // Group order 0, 8, 4, 12 and within a group 0, 2, 1, 3 back to ascending.
  const __m512i order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
  return {_mm512_permutexvar_ps(order, sums)};
}

RILL_INLINE Vec load(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
RILL_INLINE Vec load_first(const uint16_t* p, size_t count) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(count), p))};
}
RILL_INLINE void store_half(uint16_t* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
RILL_INLINE void store_half_first(uint16_t* p, Vec a, size_t count) {
  _mm256_mask_storeu_epi16(p, first_lanes(count), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}

}  // namespace
}  // namespace rill::kernels
