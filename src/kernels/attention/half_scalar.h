// SPDX-License-Identifier: Apache-2.0
// IEEE half precision <-> float, for the scalar kernels.
#pragma once

#include <stdint.h>

namespace rill::kernels {
namespace {

inline float float_from_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16;
  const uint32_t magnitude = half & 0x7FFFU;
  uint32_t bits;
  if (magnitude >= 0x7C00) {  // infinity, NaN (made quiet)
    bits = 0x7F800000U | magnitude << 13 | (magnitude > 0x7C00 ? 0x400000U : 0U);
  } else if (magnitude >= 0x400) {
    bits = (magnitude << 13) + (112U << 23);
  } else {  // a denormal half is magnitude * 2^-24, a normal float
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    __builtin_memcpy(&bits, &value, sizeof bits);
  }
  bits |= sign;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint16_t half_from_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  uint32_t half;
  if (magnitude > 0x7F800000U) {  // NaN stays NaN, quiet
    half = 0x7E00U | (magnitude >> 13 & 0x3FFU);
  } else if (magnitude >= 0x477FF000U) {  // 65520 and up round to infinity
    half = 0x7C00U;
  } else if (magnitude >=
             0x38800000U) {  // normal half: round to nearest even on the 13 dropped bits
    half = (magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  } else {  // denormal half: adding 0.5 leaves the value in units of 2^-24, rounded, in the low
            // bits
    float shifted;
    __builtin_memcpy(&shifted, &magnitude, sizeof shifted);
    shifted = shifted + 0.5f;
    __builtin_memcpy(&half, &shifted, sizeof half);
    half -= 0x3F000000U;
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace
}  // namespace rill::kernels
