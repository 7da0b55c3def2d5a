// SPDX-License-Identifier: Apache-2.0
// Vec: 16 floats in four NEON registers. The names are explained in vec_avx512.h.
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/unroll.h"

namespace rill::kernels {
namespace {

struct Vec {
  float32x4_t a, b, c, d;
};

/// op of each of the four registers.
template <typename Op>
RILL_INLINE Vec each(Vec x, const Op& op) {
  return {op(x.a), op(x.b), op(x.c), op(x.d)};
}
template <typename Op>
RILL_INLINE Vec each(Vec x, Vec y, const Op& op) {
  return {op(x.a, y.a), op(x.b, y.b), op(x.c, y.c), op(x.d, y.d)};
}

RILL_INLINE Vec set1(float x) {
  const float32x4_t v = vdupq_n_f32(x);
  return {v, v, v, v};
}
RILL_INLINE Vec zero() { return set1(0.0f); }
RILL_INLINE Vec load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
RILL_INLINE void store(float* p, Vec x) {
  vst1q_f32(p, x.a);
  vst1q_f32(p + 4, x.b);
  vst1q_f32(p + 8, x.c);
  vst1q_f32(p + 12, x.d);
}
RILL_INLINE Vec load_first(const float* p, size_t count) {
  float values[16] = {};
  memcpy(values, p, count * sizeof(float));
  return load(values);
}
RILL_INLINE void store_first(float* p, Vec x, size_t count) {
  float values[16];
  store(values, x);
  memcpy(p, values, count * sizeof(float));
}
RILL_INLINE Vec keep_first(Vec x, size_t count) {
  float values[16];
  store(values, x);
  return load_first(values, count);
}

RILL_INLINE Vec add(Vec x, Vec y) {
  return each(x, y, [](float32x4_t u, float32x4_t v) { return vaddq_f32(u, v); });
}
RILL_INLINE Vec sub(Vec x, Vec y) {
  return each(x, y, [](float32x4_t u, float32x4_t v) { return vsubq_f32(u, v); });
}
RILL_INLINE Vec mul(Vec x, Vec y) {
  return each(x, y, [](float32x4_t u, float32x4_t v) { return vmulq_f32(u, v); });
}
RILL_INLINE Vec div(Vec x, Vec y) {
  return each(x, y, [](float32x4_t u, float32x4_t v) { return vdivq_f32(u, v); });
}
RILL_INLINE Vec fma(Vec x, Vec y, Vec z) {
  return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
          vfmaq_f32(z.d, x.d, y.d)};
}
RILL_INLINE Vec fnma(Vec x, Vec y, Vec z) {
  return {vfmsq_f32(z.a, x.a, y.a), vfmsq_f32(z.b, x.b, y.b), vfmsq_f32(z.c, x.c, y.c),
          vfmsq_f32(z.d, x.d, y.d)};
}
// By comparison, as x86 does it: the instruction FMAX would turn a NaN on either side into the
// result.
RILL_INLINE Vec max(Vec x, Vec y) {
  return each(x, y, [](float32x4_t u, float32x4_t v) { return vbslq_f32(vcgtq_f32(u, v), u, v); });
}
RILL_INLINE Vec min(Vec x, Vec y) {
  return each(x, y, [](float32x4_t u, float32x4_t v) { return vbslq_f32(vcltq_f32(u, v), u, v); });
}
RILL_INLINE Vec negative_abs(Vec x) {
  return each(x, [](float32x4_t u) { return vnegq_f32(vabsq_f32(u)); });
}
RILL_INLINE Vec where_negative(Vec x, Vec y, Vec z) {
  return {vbslq_f32(vcltzq_f32(x.a), y.a, z.a), vbslq_f32(vcltzq_f32(x.b), y.b, z.b),
          vbslq_f32(vcltzq_f32(x.c), y.c, z.c), vbslq_f32(vcltzq_f32(x.d), y.d, z.d)};
}
RILL_INLINE Vec where_not_positive(Vec x, Vec y, Vec z) {
  return {vbslq_f32(vclezq_f32(x.a), y.a, z.a), vbslq_f32(vclezq_f32(x.b), y.b, z.b),
          vbslq_f32(vclezq_f32(x.c), y.c, z.c), vbslq_f32(vclezq_f32(x.d), y.d, z.d)};
}

RILL_INLINE void split_power_4(float32x4_t t, uint32_t magic_bits, float32x4_t& high,
                               float32x4_t& low) {
  const int32x4_t bias = vdupq_n_s32(127);
  const int32x4_t n =
      vsubq_s32(vreinterpretq_s32_f32(t), vdupq_n_s32(static_cast<int32_t>(magic_bits)));
  const int32x4_t half = vshrq_n_s32(n, 1);
  const int32x4_t rest = vsubq_s32(n, half);
  high = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
  low = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(rest, bias), 23));
}
/// 2^n of each lane, to multiply by. n is a whole number with bits(t) - bits(magic) = n.
struct Power {
  Vec a;
  Vec b;
};
RILL_INLINE Power power_of_two(Vec /*n*/, Vec t, uint32_t magic_bits) {
  Power power;
  split_power_4(t.a, magic_bits, power.a.a, power.b.a);
  split_power_4(t.b, magic_bits, power.a.b, power.b.b);
  split_power_4(t.c, magic_bits, power.a.c, power.b.c);
  split_power_4(t.d, magic_bits, power.a.d, power.b.d);
  return power;
}
RILL_INLINE Vec times(Vec x, const Power& power) { return mul(mul(x, power.a), power.b); }

/// The four sums that are left after folding by 8 and 4.
RILL_INLINE float32x4_t fold_to_4(Vec x) {
  return vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
}
RILL_INLINE float fold(Vec x) {
  const float32x4_t by4 = fold_to_4(x);
  const float32x2_t by2 = vadd_f32(vget_low_f32(by4), vget_high_f32(by4));
  return vget_lane_f32(by2, 0) + vget_lane_f32(by2, 1);
}
RILL_INLINE float max_lane(Vec x) {
  float values[16];
  store(values, x);
  float largest = values[0];
  for (int i = 1; i < 16; ++i) largest = values[i] > largest ? values[i] : largest;
  return largest;
}

/// The folds of four vectors: transposes their last four sums, then folds by 2 and 1.
RILL_INLINE float32x4_t fold_four(Vec p, Vec q, Vec r, Vec s) {
  const float32x4_t p4 = fold_to_4(p);
  const float32x4_t q4 = fold_to_4(q);
  const float32x4_t r4 = fold_to_4(r);
  const float32x4_t s4 = fold_to_4(s);
  const float64x2_t pq_even = vreinterpretq_f64_f32(vtrn1q_f32(p4, q4));  // p0 q0 p2 q2
  const float64x2_t pq_odd = vreinterpretq_f64_f32(vtrn2q_f32(p4, q4));   // p1 q1 p3 q3
  const float64x2_t rs_even = vreinterpretq_f64_f32(vtrn1q_f32(r4, s4));
  const float64x2_t rs_odd = vreinterpretq_f64_f32(vtrn2q_f32(r4, s4));
  const float32x4_t lane0 = vreinterpretq_f32_f64(vtrn1q_f64(pq_even, rs_even));
  const float32x4_t lane2 = vreinterpretq_f32_f64(vtrn2q_f64(pq_even, rs_even));
  const float32x4_t lane1 = vreinterpretq_f32_f64(vtrn1q_f64(pq_odd, rs_odd));
  const float32x4_t lane3 = vreinterpretq_f32_f64(vtrn2q_f64(pq_odd, rs_odd));
  return vaddq_f32(vaddq_f32(lane0, lane2), vaddq_f32(lane1, lane3));
}
RILL_INLINE Vec fold_each(const Vec (&x)[16]) {
  return {fold_four(x[0], x[1], x[2], x[3]), fold_four(x[4], x[5], x[6], x[7]),
          fold_four(x[8], x[9], x[10], x[11]), fold_four(x[12], x[13], x[14], x[15])};
}

RILL_INLINE float32x4_t load_half_4(const uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
RILL_INLINE Vec load(const uint16_t* p) {
  return {load_half_4(p), load_half_4(p + 4), load_half_4(p + 8), load_half_4(p + 12)};
}
RILL_INLINE Vec load_first(const uint16_t* p, size_t count) {
  uint16_t values[16] = {};
  memcpy(values, p, count * sizeof(uint16_t));
  return load(values);
}
RILL_INLINE void store_half_4(uint16_t* p, float32x4_t v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
RILL_INLINE void store_half(uint16_t* p, Vec x) {
  store_half_4(p, x.a);
  store_half_4(p + 4, x.b);
  store_half_4(p + 8, x.c);
  store_half_4(p + 12, x.d);
}
RILL_INLINE void store_half_first(uint16_t* p, Vec x, size_t count) {
  uint16_t values[16];
  store_half(values, x);
  memcpy(p, values, count * sizeof(uint16_t));
}

}  // namespace
}  // namespace rill::kernels
