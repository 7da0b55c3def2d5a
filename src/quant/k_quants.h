// SPDX-License-Identifier: Apache-2.0
// The K types' superblocks of 256 values: reading, unpacking of the 6-bit scales, and the search
// that quantizes.
#pragma once

#include <array>
#include <cstdint>

#include "quant/blocks.h"

namespace rill::quant {

/// The eight 6-bit scales and minimums of a Q4_K or Q5_K superblock.
struct SuperScales {
  std::array<uint8_t, 8> scale;
  std::array<uint8_t, 8> minimum;
};
[[nodiscard]] SuperScales unpack_scales(const uint8_t (&packed)[12]);
void pack_scales(const SuperScales& scales, uint8_t (&packed)[12]);

/// Dequantizes one superblock into 256 values.
void read_q4_k(const BlockQ4_K& block, float* out);
void read_q5_k(const BlockQ5_K& block, float* out);
void read_q6_k(const BlockQ6_K& block, float* out);

/// Quant of value i (0..255) of a Q6_K superblock, 0..63 (32 stands for zero).
[[nodiscard]] uint8_t q6_k_quant(const BlockQ6_K& block, size_t i);

/// Quantizes 256 values. Scales and minimums are found by least squares over several candidate
/// grids.
void write_block(const float* values, BlockQ4_K& block);
void write_block(const float* values, BlockQ5_K& block);
void write_block(const float* values, BlockQ6_K& block);

}  // namespace rill::quant
