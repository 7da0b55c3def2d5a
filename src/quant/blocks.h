// SPDX-License-Identifier: Apache-2.0
// The block layouts of GGUF's quantized types, and the panels into which rill packs them. Includes
// C headers only: kernels use it too. Fields named d, m, dmin are IEEE half precision bits.
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

/// v = d * q + m; nibbles as in Q4_0. In the kernels' terms the minimum is -m.
struct BlockQ4_1 {
  uint16_t d;
  uint16_t m;
  uint8_t q[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

/// v = d * (q - 16); nibbles as in Q4_0, the fifth bit of value i is bit i of the little-endian
/// 32-bit `high`.
struct BlockQ5_0 {
  uint16_t d;
  uint8_t high[4];
  uint8_t q[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

/// v = d * q + m; quants as in Q5_0. In the kernels' terms the minimum is -m.
struct BlockQ5_1 {
  uint16_t d;
  uint16_t m;
  uint8_t high[4];
  uint8_t q[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

/// v = d * scale[j] * q - dmin * min[j] for sub-block j of 32; scales and mins are 6 bits, packed
/// (spec: Q4_K). Bytes 32g .. 32g+31 of q hold sub-block 2g in the low nibbles and 2g+1 in the high
/// ones.
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

// Panels: 16 rows of a matrix, interleaved. One layout serves every tier (a group is one AVX-512
// register, two AVX2 registers, four NEON registers). A panel is a sequence of chunks of 256
// columns (the last may be shorter). A chunk of a quantized type is a header (K types: half d[16];
// kSuper then half dmin[16]; 64 bytes) and pairs of blocks of 32 columns, which lie in the order in
// which they are read, so that a panel is one stream of memory. A pair is, for each block,
//   plane   the bits above the nibbles. One bit: 64 bytes, bit g of byte [row][j] belongs to group
//           g. Two bits: 128 bytes, bits 2(g % 4) of byte [row][j] of half g / 4 belong to group g.
//   quants  groups of 64 bytes, byte [row][j] of group g holds column 4g + j. 8 bits: groups 0..7,
//           the value + 128. Nibbles: groups 0..3; group i + 4 lies in the high nibbles.
// and then, for each block,
//   scales  kHalf: half d[16]. kHalfMin: that, then half minimum[16], v = d * q - minimum.
//           kSuper: uint8 scale[16], uint8 minimum[16]. kSuperHalves: int8 scale[2][16], one for
//           each 16 columns.
// A chunk with an odd number of blocks ends with a whole pair. The quants stay unsigned; zero_point
// is what the values lie above zero. Plain types: element [column][row]. Rows past the matrix,
// blocks past the chunk and bytes of padding are zero.
constexpr size_t kPanelRows = 16;
constexpr size_t kChunkValues = 256;  // the chunks of docs/numerics.md, rules 4 and 5

enum class PanelScales : uint8_t { kHalf, kHalfMin, kSuper, kSuperHalves };

/// Facts of a quantized type's panels.
struct PanelFormat {
  size_t quant_bytes;  ///< per block: 512 or 256
  size_t plane_bytes;  ///< per block: 0, 64 or 128
  PanelScales scales;
  int zero_point;
};

constexpr PanelFormat kPanelQ8_0 = {512, 0, PanelScales::kHalf, 128};
constexpr PanelFormat kPanelQ4_0 = {256, 0, PanelScales::kHalf, 8};
constexpr PanelFormat kPanelQ4_1 = {256, 0, PanelScales::kHalfMin, 0};
constexpr PanelFormat kPanelQ5_0 = {256, 64, PanelScales::kHalf, 16};
constexpr PanelFormat kPanelQ5_1 = {256, 64, PanelScales::kHalfMin, 0};
constexpr PanelFormat kPanelQ4_K = {256, 0, PanelScales::kSuper, 0};
constexpr PanelFormat kPanelQ5_K = {256, 64, PanelScales::kSuper, 0};
constexpr PanelFormat kPanelQ6_K = {256, 128, PanelScales::kSuperHalves, 32};

/// Bytes of a chunk before its first block, of a block's scales, and of a pair of blocks.
static constexpr size_t panel_header_bytes(const PanelFormat& format) {
  const bool super =
      format.scales == PanelScales::kSuper || format.scales == PanelScales::kSuperHalves;
  return super ? 64 : 0;
}
static constexpr size_t panel_scale_bytes(const PanelFormat& format) {
  return format.scales == PanelScales::kHalfMin ? 64 : 32;
}
static constexpr size_t panel_pair_bytes(const PanelFormat& format) {
  return 2 * (format.plane_bytes + format.quant_bytes + panel_scale_bytes(format));
}
/// Offsets of a block's parts within its chunk.
static constexpr size_t panel_plane_offset(const PanelFormat& format, size_t block) {
  return panel_header_bytes(format) + block / 2 * panel_pair_bytes(format) +
         block % 2 * (format.plane_bytes + format.quant_bytes);
}
static constexpr size_t panel_quants_offset(const PanelFormat& format, size_t block) {
  return panel_plane_offset(format, block) + format.plane_bytes;
}
static constexpr size_t panel_scales_offset(const PanelFormat& format, size_t block) {
  return panel_header_bytes(format) + block / 2 * panel_pair_bytes(format) +
         2 * (format.plane_bytes + format.quant_bytes) + block % 2 * panel_scale_bytes(format);
}
/// Bytes of a chunk of `blocks` blocks: a multiple of 64.
static constexpr size_t panel_chunk_bytes(const PanelFormat& format, size_t blocks) {
  return panel_header_bytes(format) + (blocks + 1) / 2 * panel_pair_bytes(format);
}

}  // namespace rill::quant
