// SPDX-License-Identifier: Apache-2.0
// Chunks of quantized panels, as they lie in memory (quant/blocks.h) and unpacked, behind one
// interface for matmul_tile_quantized.h, and what they ask the memory for.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/matmul/matmul_tile_common.h"

namespace rill::kernels {
namespace {

using quant::PanelFormat;
using quant::PanelScales;

constexpr size_t kBlocksPerChunk = kChunkValues / 32;

// Two groups of four columns: columns 4i.. and 16 + 4i.. of a block.
template <class V>
struct GroupPair {
  typename V::U8 low;
  typename V::U8 high;
};

// A chunk of a panel as it lies in memory.
template <class V, PanelFormat kFormat>
class PackedChunk {
 public:
  static constexpr bool kBytes = kFormat.quant_bytes == 512;
  static constexpr bool kHasMinimum =
      kFormat.scales == PanelScales::kHalfMin || kFormat.scales == PanelScales::kSuper;
  static constexpr bool kHalves = kFormat.scales == PanelScales::kSuperHalves;
  static constexpr bool kPairs = true;  // blocks are best visited by pairs: offsets are constants

  PackedChunk() = default;
  // `ahead` is a chunk that will be needed soon, for prefetch; null: nothing is asked for.
  RILL_INLINE PackedChunk(const uint8_t* chunk, const uint8_t* ahead)
      : ahead_(ahead), chunk_(chunk) {
    if constexpr (kFormat.scales == PanelScales::kSuper || kHalves) d_ = V::load_half(chunk);
    if constexpr (kFormat.scales == PanelScales::kSuper) dmin_ = V::load_half(chunk + 32);
  }

  RILL_INLINE GroupPair<V> pair(size_t block, int i) const {
    const uint8_t* plane = pair_of(block) + kFirstPlane + block % 2 * kBlockBytes;
    const uint8_t* quants = plane + kFormat.plane_bytes + static_cast<size_t>(i) * 64;
    if constexpr (kBytes) return {V::load_u8(quants), V::load_u8(quants + 256)};
    const typename V::U8 nibbles = V::load_u8(quants);
    GroupPair<V> pair = {V::low_nibbles(nibbles), V::high_nibbles(nibbles)};
    if constexpr (kFormat.plane_bytes == 64) {
      const typename V::U8 bits = V::load_u8(plane);
      pair.low = V::add_bit(pair.low, bits, i);
      pair.high = V::add_bit(pair.high, bits, i + 4);
    }
    if constexpr (kFormat.plane_bytes == 128) {
      pair.low = V::add_two_bits(pair.low, V::load_u8(plane), i);
      pair.high = V::add_two_bits(pair.high, V::load_u8(plane + 64), i);
    }
    return pair;
  }
  RILL_INLINE void prefetch_for_tile(size_t, size_t) const {}  // prefetch() asks block by block
  // Asks for a block's share of the chunk ahead.
  RILL_INLINE void prefetch(size_t block) const {
    constexpr size_t kShare = quant::panel_chunk_bytes(kFormat, kBlocksPerChunk) / kBlocksPerChunk;
    if (ahead_ == nullptr) return;
    RILL_UNROLL
    for (size_t i = 0; i < kShare; i += 64) __builtin_prefetch(ahead_ + block * kShare + i);
  }
  RILL_INLINE typename V::F32 scale(size_t block) const {
    if constexpr (kHalves) return d_;
    if constexpr (kFormat.scales == PanelScales::kSuper) {
      return V::mul(d_, V::load_u8_f32(scales(block)));
    }
    return V::load_half(scales(block));
  }
  RILL_INLINE typename V::F32 minimum(size_t block) const {
    if constexpr (kFormat.scales == PanelScales::kSuper) {
      return V::mul(dmin_, V::load_u8_f32(scales(block) + 16));
    }
    return V::load_half(scales(block) + 32);
  }
  // The integer scale of 16 columns: half 0 or 1 of the block.
  RILL_INLINE typename V::I32 half_scale(size_t block, size_t half) const {
    return V::load_i8_i32(scales(block) + half * 16);
  }

 private:
  // Constants, so that nothing refers to the format as an object: that would be a weak symbol.
  static constexpr size_t kFirstPlane = quant::panel_plane_offset(kFormat, 0);
  static constexpr size_t kBlockBytes = quant::panel_plane_offset(kFormat, 1) - kFirstPlane;
  static constexpr size_t kFirstScales = quant::panel_scales_offset(kFormat, 0);
  static constexpr size_t kScaleBytes = quant::panel_scale_bytes(kFormat);
  static constexpr size_t kPairBytes = quant::panel_pair_bytes(kFormat);

  RILL_INLINE const uint8_t* pair_of(size_t block) const { return chunk_ + block / 2 * kPairBytes; }
  RILL_INLINE const uint8_t* scales(size_t block) const {
    return pair_of(block) + kFirstScales + block % 2 * kScaleBytes;
  }

  const uint8_t* ahead_;
  const uint8_t* chunk_;
  typename V::F32 d_;
  typename V::F32 dmin_;
};

// Asks for the packed chunk that comes next, a part of it at each tile of tokens: all at once, the
// lines would wait for each other. Into the second cache level, for the first one is in use. A
// chunk has a multiple of 64 bytes.
struct PacedPrefetch {
  const uint8_t* chunk;
  size_t bytes;
  size_t bytes_per_token;

  RILL_INLINE void for_tile(size_t first_token, size_t tokens) const {
    const size_t end = min_of(bytes, (first_token + tokens) * bytes_per_token);
    for (size_t i = first_token * bytes_per_token; i < end; i += 64)
      __builtin_prefetch(chunk + i, 0, 2);
  }
};

// A chunk of a panel, unpacked: one byte per quant, F32 scales.
struct UnpackedChunk {
  alignas(64) uint8_t quants[kBlocksPerChunk * 512];
  alignas(64) float scale[kBlocksPerChunk * kPanelRows];
  union {
    alignas(64) float minimum[kBlocksPerChunk * kPanelRows];
    alignas(64) int32_t half_scale[2 * kBlocksPerChunk * kPanelRows];
  };
};

// The view of an UnpackedChunk with the interface of PackedChunk; types that look alike share it.
template <class V, bool kIsBytes, bool kMinimum, bool kTwoScales>
class UnpackedView {
 public:
  static constexpr bool kBytes = kIsBytes;
  static constexpr bool kHasMinimum = kMinimum;
  static constexpr bool kHalves = kTwoScales;
  static constexpr bool kPairs = false;

  UnpackedView() = default;
  RILL_INLINE UnpackedView(const UnpackedChunk* chunk, const PacedPrefetch& ahead)
      : chunk_(chunk), ahead_(ahead) {}

  RILL_INLINE GroupPair<V> pair(size_t block, int i) const {
    const uint8_t* quants = chunk_->quants + block * 512 + static_cast<size_t>(i) * 64;
    return {V::load_u8(quants), V::load_u8(quants + 256)};
  }
  RILL_INLINE void prefetch(size_t) const {}
  RILL_INLINE void prefetch_for_tile(size_t first_token, size_t tokens) const {
    ahead_.for_tile(first_token, tokens);
  }
  RILL_INLINE typename V::F32 scale(size_t block) const {
    return V::load_f32(chunk_->scale + block * 16);
  }
  RILL_INLINE typename V::F32 minimum(size_t block) const {
    return V::load_f32(chunk_->minimum + block * 16);
  }
  RILL_INLINE typename V::I32 half_scale(size_t block, size_t half) const {
    return V::load_i32(chunk_->half_scale + (2 * block + half) * 16);
  }

 private:
  const UnpackedChunk* chunk_;
  PacedPrefetch ahead_;
};

template <class V, class Packed>
void unpack(const Packed& from, size_t blocks, UnpackedChunk* out) {
  for (size_t b = 0; b < blocks; ++b) {
    RILL_UNROLL
    for (int i = 0; i < 4; ++i) {
      const GroupPair<V> pair = from.pair(b, i);
      V::store_u8(out->quants + b * 512 + static_cast<size_t>(i) * 64, pair.low);
      V::store_u8(out->quants + b * 512 + static_cast<size_t>(i) * 64 + 256, pair.high);
    }
    V::store_f32(out->scale + b * 16, from.scale(b));
    if constexpr (Packed::kHasMinimum) V::store_f32(out->minimum + b * 16, from.minimum(b));
    if constexpr (Packed::kHalves) {
      V::store_i32(out->half_scale + 2 * b * 16, from.half_scale(b, 0));
      V::store_i32(out->half_scale + (2 * b + 1) * 16, from.half_scale(b, 1));
    }
  }
}

}  // namespace
}  // namespace rill::kernels
