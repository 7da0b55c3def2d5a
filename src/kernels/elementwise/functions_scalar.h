// SPDX-License-Identifier: Apache-2.0
// The definition of rill's F32 elementary functions (docs/numerics.md, rule 8): branch-free,
// explicit FMA, no libm. functions_simd.h says the same 16 values at a time. Error: exp below 0.6
// ulp, sigmoid 1.6, silu 2, gelu 2.
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

/// exp(x + low), where |low| is small beside 1. Denormal results are kept, overflow gives infinity,
/// NaN stays NaN.
inline float exp_sum_f32(float x, float low) {
  x = x < kExpMin ? kExpMin : x;
  x = x > kExpMax ? kExpMax : x;
  const float t = __builtin_fmaf(x, kLog2E, kRoundMagic);
  const float n = t - kRoundMagic;
  float r = __builtin_fmaf(n, -kLn2High, x);
  r = __builtin_fmaf(n, -kLn2Low, r);
  r = r + low;
  float p = __builtin_fmaf(kExp6, r, kExp5);
  p = __builtin_fmaf(p, r, kExp4);
  p = __builtin_fmaf(p, r, kExp3);
  p = __builtin_fmaf(p, r, kExp2);
  p = __builtin_fmaf(p, r * r, r);
  p = p + 1.0f;
  // 2^n in two factors: neither leaves the normal range, and only the second product rounds.
  const auto exponent = static_cast<int32_t>(bits_from_float(t) - kRoundMagicBits);
  const int32_t half = exponent >> 1;
  const int32_t rest =
      static_cast<int32_t>(static_cast<uint32_t>(exponent) - static_cast<uint32_t>(half));
  p = p * float_from_bits((static_cast<uint32_t>(half) + 127U) << 23);
  return p * float_from_bits((static_cast<uint32_t>(rest) + 127U) << 23);
}

inline float exp_f32(float x) { return exp_sum_f32(x, 0.0f); }

/// 1 / (1 + exp(-x)), with exp(-|x|) so that nothing overflows.
inline float sigmoid_f32(float x) {
  const float z = exp_f32(-__builtin_fabsf(x));
  return (x < 0.0f ? z : 1.0f) / (1.0f + z);
}

/// x / (1 + exp(-x))
inline float silu_f32(float x) {
  const float z = exp_f32(-__builtin_fabsf(x));
  return (x < 0.0f ? x * z : x) / (1.0f + z);
}

// Phi(-a) = exp(-a^2 / 2) * h(a); h as a polynomial in t = (a - 4) / (a + 4), minimax over 0 <= a
// <= 14.6, relative error 4.3e-9. Beyond, the exponential is zero in F32.
constexpr float kGeluMax = 14.6f;
constexpr float kGeluCentre = 4.0f;
constexpr float kGeluCoefficients[11] = {0x1.82b4bcp-4f,  -0x1.5cf97cp-3f, 0x1.fd751p-4f,
                                         -0x1.25b68ep-4f, 0x1.f9b348p-6f,  -0x1.164e4p-7f,
                                         0x1.07b8c2p-11f, 0x1.50e12cp-11f, -0x1.6bc9acp-13f,
                                         -0x1.91f7p-15f,  0x1.81aeeap-17f};

/// x * Phi(x) = 0.5 x (1 + erf(x / sqrt(2))). Through the tail Phi(-|x|), so that a negative x
/// keeps its digits.
inline float gelu_f32(float x) {
  float a = __builtin_fabsf(x);
  a = a > kGeluMax ? kGeluMax : a;
  const float square = a * a;
  const float square_low = __builtin_fmaf(a, a, -square);  // what rounding the square lost
  const float e = exp_sum_f32(-0.5f * square, -0.5f * square_low);
  const float t = (a - kGeluCentre) / (a + kGeluCentre);
  float h = kGeluCoefficients[10];
  for (int i = 9; i >= 0; --i) h = __builtin_fmaf(h, t, kGeluCoefficients[i]);
  const float tail = e * h;
  return x < 0.0f ? x * tail : __builtin_fmaf(-x, tail, x);
}

}  // namespace
}  // namespace rill::kernels
