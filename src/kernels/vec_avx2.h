// SPDX-License-Identifier: Apache-2.0
// Vec: 16 floats in two AVX2 registers. The names are explained in vec_avx512.h.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/unroll.h"

namespace rill::kernels {
namespace {

struct Vec {
  __m256 lo;
  __m256 hi;
};

RILL_INLINE Vec zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
RILL_INLINE Vec set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
RILL_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
RILL_INLINE void store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
RILL_INLINE Vec load_first(const float* p, size_t count) {
  float values[16] = {};
  memcpy(values, p, count * sizeof(float));
  return load(values);
}
RILL_INLINE void store_first(float* p, Vec a, size_t count) {
  float values[16];
  store(values, a);
  memcpy(p, values, count * sizeof(float));
}
RILL_INLINE Vec keep_first(Vec a, size_t count) {
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(count));
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i lo = _mm256_cmpgt_epi32(limit, lanes);
  const __m256i hi = _mm256_cmpgt_epi32(limit, _mm256_add_epi32(lanes, _mm256_set1_epi32(8)));
  return {_mm256_and_ps(a.lo, _mm256_castsi256_ps(lo)),
          _mm256_and_ps(a.hi, _mm256_castsi256_ps(hi))};
}

RILL_INLINE Vec add(Vec a, Vec b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
RILL_INLINE Vec sub(Vec a, Vec b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
RILL_INLINE Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
RILL_INLINE Vec div(Vec a, Vec b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
RILL_INLINE Vec fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
RILL_INLINE Vec fnma(Vec a, Vec b, Vec c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
RILL_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
RILL_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
RILL_INLINE Vec negative_abs(Vec a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(a.lo, sign), _mm256_or_ps(a.hi, sign)};
}
RILL_INLINE Vec where_negative(Vec x, Vec a, Vec b) {
  const __m256 none = _mm256_setzero_ps();
  return {_mm256_blendv_ps(b.lo, a.lo, _mm256_cmp_ps(x.lo, none, _CMP_LT_OQ)),
          _mm256_blendv_ps(b.hi, a.hi, _mm256_cmp_ps(x.hi, none, _CMP_LT_OQ))};
}
RILL_INLINE Vec where_not_positive(Vec x, Vec a, Vec b) {
  const __m256 none = _mm256_setzero_ps();
  return {_mm256_blendv_ps(b.lo, a.lo, _mm256_cmp_ps(x.lo, none, _CMP_LE_OQ)),
          _mm256_blendv_ps(b.hi, a.hi, _mm256_cmp_ps(x.hi, none, _CMP_LE_OQ))};
}

RILL_INLINE void split_power_8(__m256 t, uint32_t magic_bits, __m256& a, __m256& b) {
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i n =
      _mm256_sub_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(static_cast<int>(magic_bits)));
  const __m256i half = _mm256_srai_epi32(n, 1);
  const __m256i rest = _mm256_sub_epi32(n, half);
  a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
}
/// 2^n of each lane, to multiply by. n is a whole number with bits(t) - bits(magic) = n.
struct Power {
  Vec a;
  Vec b;
};
RILL_INLINE Power power_of_two(Vec /*n*/, Vec t, uint32_t magic_bits) {
  Power power;
  split_power_8(t.lo, magic_bits, power.a.lo, power.b.lo);
  split_power_8(t.hi, magic_bits, power.a.hi, power.b.hi);
  return power;
}
RILL_INLINE Vec times(Vec x, const Power& power) { return mul(mul(x, power.a), power.b); }

RILL_INLINE float fold(Vec a) {
  const __m256 by8 = _mm256_add_ps(a.lo, a.hi);
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
RILL_INLINE float max_lane(Vec a) {
  const __m256 by8 = _mm256_max_ps(a.lo, a.hi);
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}

/// Lane i of the result is the fold of vector i, given its 8 sums after the first step.
RILL_INLINE __m256 fold_each_8(const __m256 (&by8)[8]) {
  __m256 by4[4];
  __m256 by2[2];
  // 128-bit groups of vectors i and i + 4.
  RILL_UNROLL
  for (int i = 0; i < 4; ++i) {
    by4[i] = _mm256_add_ps(_mm256_permute2f128_ps(by8[i], by8[i + 4], 0x20),
                           _mm256_permute2f128_ps(by8[i], by8[i + 4], 0x31));
  }
  RILL_UNROLL
  for (int i = 0; i < 2; ++i) {
    by2[i] = _mm256_add_ps(_mm256_shuffle_ps(by4[i], by4[i + 2], 0x44),
                           _mm256_shuffle_ps(by4[i], by4[i + 2], 0xEE));
  }
  const __m256 sums = _mm256_add_ps(_mm256_shuffle_ps(by2[0], by2[1], 0x88),
                                    _mm256_shuffle_ps(by2[0], by2[1], 0xDD));
  // Within a group the order is 0, 2, 1, 3.
  return _mm256_permute_ps(sums, 0xD8);
}
RILL_INLINE Vec fold_each(const Vec (&a)[16]) {
  __m256 low[8];
  __m256 high[8];
  RILL_UNROLL
  for (int i = 0; i < 8; ++i) {
    low[i] = _mm256_add_ps(a[i].lo, a[i].hi);
    high[i] = _mm256_add_ps(a[i + 8].lo, a[i + 8].hi);
  }
  return {fold_each_8(low), fold_each_8(high)};
}

RILL_INLINE Vec load(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
RILL_INLINE Vec load_first(const uint16_t* p, size_t count) {
  uint16_t values[16] = {};
  memcpy(values, p, count * sizeof(uint16_t));
  return load(values);
}
RILL_INLINE void store_half(uint16_t* p, Vec a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8),
                   _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
}
RILL_INLINE void store_half_first(uint16_t* p, Vec a, size_t count) {
  uint16_t values[16];
  store_half(values, a);
  memcpy(p, values, count * sizeof(uint16_t));
}

}  // namespace
}  // namespace rill::kernels
