// SPDX-License-Identifier: Apache-2.0
// The block layouts of GGUF's quantized types, as plain structs. Includes C headers only: kernels use it too.
// Fields named d, dmin are IEEE half precision bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::quant {

inline constexpr size_t kBlockValues = 32;        // Q8_0, Q4_0; also activation quantization
inline constexpr size_t kSuperBlockValues = 256;  // the K types

/// v = d * q
struct BlockQ8_0 {
  uint16_t d;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

/// v = d * (q - 8); value i < 16 is the low nibble of byte i, value i + 16 its high nibble.
struct BlockQ4_0 {
  uint16_t d;
  uint8_t q[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

/// v = d * scale[j] * q - dmin * min[j] for sub-block j of 32; scales and mins are 6 bits, packed (spec: Q4_K).
/// Bytes 32g .. 32g+31 of q hold sub-block 2g in the low nibbles and 2g+1 in the high ones.
struct BlockQ4_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t q[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

/// As Q4_K; value l of sub-block j takes bit j of high[l] as its fifth bit.
struct BlockQ5_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t high[32];
  uint8_t q[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

/// v = d * scale * (q - 32), scales per 16 values; bit layout in the spec (Q6_K).
struct BlockQ6_K {
  uint8_t low[128];
  uint8_t high[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

}  // namespace rill::quant
