// SPDX-License-Identifier: Apache-2.0
// The definition of rill's F32 elementary functions (docs/numerics.md, rule 8): branch-free,
// explicit FMA, no libm. functions_simd.h says the same for 16 values at a time. Errors: exp,
// sigmoid and gelu stay below 1 ulp, silu below 1.75 (tested).
#pragma once

#include <stdint.h>

namespace rill::kernels {
namespace {

inline float float_from_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bits_from_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Adding 1.5 * 2^23 rounds to an integer (half to even) and leaves it in the low bits of the sum.
constexpr float kRoundMagic = 12582912.0f;
constexpr uint32_t kRoundMagicBits = 0x4B400000;
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLn2High = 0x1.62e43p-1f;   // ln 2 rounded to float
constexpr float kLn2Low = -0x1.05c61p-29f;  // the rest
// Past these the result is infinite or rounds to zero; clamping keeps n in range.
constexpr float kExpMax = 90.0f;
constexpr float kExpMin = -105.0f;
// exp(r) = 1 + r + r^2 (c2 + c3 r + ...) for |r| <= ln(2) / 2; minimax, relative error 3.1e-9.
constexpr float kExp2 = 0x1.fffffcp-2f;
constexpr float kExp3 = 0x1.555492p-3f;
constexpr float kExp4 = 0x1.5558f2p-5f;
constexpr float kExp5 = 0x1.123a2p-7f;
constexpr float kExp6 = 0x1.6a23dp-10f;

/// exp(x) = scale_a * scale_b * (p + p_low), where p and p_low are a float and what rounding it
/// lost.
struct ExpParts {
  float p;
  float p_low;
  float scale_a;
  float scale_b;
};

inline ExpParts exp_parts_f32(float x) {
  x = x < kExpMin ? kExpMin : x;
  x = x > kExpMax ? kExpMax : x;
  const float t = __builtin_fmaf(x, kLog2E, kRoundMagic);
  const float n = t - kRoundMagic;
  float r = __builtin_fmaf(n, -kLn2High, x);
  r = __builtin_fmaf(n, -kLn2Low, r);
  float q = __builtin_fmaf(kExp6, r, kExp5);
  q = __builtin_fmaf(q, r, kExp4);
  q = __builtin_fmaf(q, r, kExp3);
  q = __builtin_fmaf(q, r, kExp2);
  q = __builtin_fmaf(q, r * r, r);
  const float p = 1.0f + q;
  // 2^n in two factors: neither leaves the normal range, and only the second product can round.
  const auto exponent = static_cast<int32_t>(bits_from_float(t) - kRoundMagicBits);
  const int32_t half = exponent >> 1;
  const uint32_t rest = static_cast<uint32_t>(exponent) - static_cast<uint32_t>(half);
  return {p, q - (p - 1.0f), float_from_bits((static_cast<uint32_t>(half) + 127U) << 23),
          float_from_bits((rest + 127U) << 23)};
}

/// Denormal results are kept, overflow gives infinity, NaN stays NaN.
inline float exp_f32(float x) {
  const ExpParts e = exp_parts_f32(x);
  return e.p * e.scale_a * e.scale_b;
}

/// 1 / (1 + exp(-x)) as 1 / d or z / d with z = exp(-|x|), d = 1 + z, so that nothing overflows;
/// the quotient is corrected by what rounding z and d lost.
inline float sigmoid_f32(float x) {
  const ExpParts e = exp_parts_f32(-__builtin_fabsf(x));
  const float z = e.p * e.scale_a * e.scale_b;
  const float z_low = e.p_low * e.scale_a * e.scale_b;
  const float d = 1.0f + z;
  const float d_low = (z - (d - 1.0f)) + z_low;
  const float numerator = x < 0.0f ? z : 1.0f;
  const float numerator_low = x < 0.0f ? z_low : 0.0f;
  const float inverse = 1.0f / d;
  const float y = numerator * inverse;
  float rest = __builtin_fmaf(-y, d, numerator);
  rest = rest + __builtin_fmaf(-y, d_low, numerator_low);
  return __builtin_fmaf(rest, inverse, y);
}

/// x / (1 + exp(-x))
inline float silu_f32(float x) { return x * sigmoid_f32(x); }

// GELU is rare (one activation of the adapter) and loses digits in its negative tail, so it is
// computed in double, by products and sums without FMA; every tier takes the scalar kernel.
// Phi(-a) = exp(-a^2 / 2) * h(a); h as a polynomial in t = (a - 4) / (a + 4), minimax over
// 0 <= a <= 14.6, relative error 2.8e-10. Beyond, the exponential is zero in F32.
constexpr double kGeluMax = 14.6;
constexpr double kGeluCentre = 4.0;
constexpr double kGeluCoefficients[12] = {
    0x1.82b4bb8ced359p-4,   -0x1.5cf97b1a17afbp-3,  0x1.fd751a1de0b21p-4,  -0x1.25b6a51de1717p-4,
    0x1.f9b05a9270ba9p-6,   -0x1.1647153a609b9p-7,  0x1.0a19f8c75cda5p-11, 0x1.4fb00f19cc94dp-11,
    -0x1.874569139d714p-13, -0x1.9c9a4c2177147p-15, 0x1.af0ba62fff13ap-16, 0x1.03ec3bc79390dp-17};
constexpr double kExpCoefficients64[7] = {
    0x1.00000002662e3p+0, 0x1.0000009cef2bcp+0, 0x1.fffffaa729f6bp-2, 0x1.5554092d21ef6p-3,
    0x1.55589d9ba547ep-5, 0x1.126dbd48543cap-7, 0x1.6ab8cde919580p-10};
constexpr double kRoundMagic64 = 0x1.8p52;
constexpr double kLog2E64 = 0x1.71547652b82fep0;
constexpr double kLn2High64 = 0x1.62e42feep-1;  // few digits: its product with n is exact
constexpr double kLn2Low64 = 0x1.a39ef35793c76p-33;

/// exp(x) for -110 <= x <= 0 to about 1e-10, for GELU.
inline double exp_f64(double x) {
  const double shifted = x * kLog2E64 + kRoundMagic64;
  const double n = shifted - kRoundMagic64;
  const double r = (x - n * kLn2High64) - n * kLn2Low64;
  double p = kExpCoefficients64[6];
  for (int i = 5; i >= 0; --i) p = p * r + kExpCoefficients64[i];
  uint64_t exponent;
  __builtin_memcpy(&exponent, &shifted, sizeof exponent);
  exponent = (exponent + 1023U) << 52;  // the low bits of `shifted` hold n
  double power;
  __builtin_memcpy(&power, &exponent, sizeof power);
  return p * power;
}

/// x * Phi(x) = 0.5 x (1 + erf(x / sqrt(2))), through the tail Phi(-|x|).
inline float gelu_f32(float x) {
  const double wide = static_cast<double>(x);
  double a = wide < 0.0 ? -wide : wide;
  a = a > kGeluMax ? kGeluMax : a;
  const double t = (a - kGeluCentre) / (a + kGeluCentre);
  double h = kGeluCoefficients[11];
  for (int i = 10; i >= 0; --i) h = h * t + kGeluCoefficients[i];
  const double tail = exp_f64(-0.5 * (a * a)) * h;
  return static_cast<float>(x < 0.0f ? wide * tail : wide - wide * tail);
}

}  // namespace
}  // namespace rill::kernels
