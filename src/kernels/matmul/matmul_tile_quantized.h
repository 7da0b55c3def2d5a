// SPDX-License-Identifier: Apache-2.0
// Products with quantized weights (docs/numerics.md, rule 4) over vectors of 16 rows; see
// matmul_tile.h.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/matmul/matmul_chunks.h"
#include "kernels/matmul/matmul_tile_common.h"

namespace rill::kernels {
namespace {

// Prefill: panels unpacked together. 4 * 5 KiB of weights and a tile's activations stay in the
// first cache level.
constexpr size_t kGroupPanels = 4;
constexpr size_t kGroupRows = kGroupPanels * kPanelRows;

template <class V, class W>
RILL_INLINE typename V::I32 dot(typename V::I32 acc, typename V::U8 weights, typename V::X x) {
  if constexpr (W::kBytes) return V::dot_bytes(acc, weights, x);
  return V::dot_small(acc, weights, x);
}

// What an exact integer sum starts from, times the sum of the activations: weights are stored that
// much too high.
template <class V, PanelFormat kFormat>
constexpr int start_factor() {
  return kFormat.quant_bytes == 512 ? -V::kByteZeroPoint : -kFormat.zero_point;
}

// One block of a chunk for a tile; integers are exact, so their order is free. `starts` holds for
// each token what the block's sums start from.
template <class V, class W, int P, int T>
RILL_INLINE void add_block(const W (&w)[P], const ActivationChunk* x, size_t b,
                           const int32_t (&starts)[T][16], Tile<V, P, T>& tile) {
  RILL_UNROLL
  for (int p = 0; p < P; ++p) w[p].prefetch(b);
  typename V::I32 sum[T][P];
  typename V::I32 second[T][P];  // columns 16..31, where they have a scale of their own
  RILL_UNROLL
  for (int t = 0; t < T; ++t) {
    RILL_UNROLL
    for (int p = 0; p < P; ++p) {
      sum[t][p] = V::set_i32(starts[t][W::kHalves ? 2 * b : b]);
      if constexpr (W::kHalves) second[t][p] = V::set_i32(starts[t][2 * b + 1]);
    }
  }
  RILL_UNROLL
  for (int i = 0; i < 4; ++i) {
    GroupPair<V> pair[P];
    RILL_UNROLL
    for (int p = 0; p < P; ++p) pair[p] = w[p].pair(b, i);
    RILL_UNROLL
    for (int t = 0; t < T; ++t) {
      const int8_t* q = x[t].q + 32 * b + 4 * i;
      const typename V::X low = V::broadcast(q);
      const typename V::X high = V::broadcast(q + 16);
      RILL_UNROLL
      for (int p = 0; p < P; ++p) {
        sum[t][p] = dot<V, W>(sum[t][p], pair[p].low, low);
        if constexpr (W::kHalves) {
          second[t][p] = dot<V, W>(second[t][p], pair[p].high, high);
        } else {
          sum[t][p] = dot<V, W>(sum[t][p], pair[p].high, high);
        }
      }
    }
  }
  RILL_UNROLL
  for (int p = 0; p < P; ++p) {
    const typename V::F32 scale = w[p].scale(b);
    RILL_UNROLL
    for (int t = 0; t < T; ++t) {
      typename V::I32 product = sum[t][p];
      if constexpr (W::kHalves) {
        product = V::add_i32(V::mul_i32(w[p].half_scale(b, 0), sum[t][p]),
                             V::mul_i32(w[p].half_scale(b, 1), second[t][p]));
      }
      const typename V::F32 s = V::set_f32(x[t].scale[b]);
      tile.c[t][p] = V::fma(V::to_f32(product), V::mul(scale, s), tile.c[t][p]);
      if constexpr (W::kHasMinimum) {
        // Types with a minimum have no zero point: starts holds the sums of the activations.
        const typename V::F32 x_sum = V::to_f32(V::set_i32(starts[t][8 + b]));
        tile.c[t][p] = V::fnma(x_sum, V::mul(w[p].minimum(b), s), tile.c[t][p]);
      }
    }
  }
}

// acc[t][16 p ..] += the chunk's part of a tile.
template <class V, class W, int P, int T>
RILL_INLINE void add_chunk(const W (&w)[P], const ActivationChunk* x, size_t blocks, int factor,
                           size_t acc_stride, float* acc) {
  alignas(64) int32_t starts[T][16];
  RILL_UNROLL
  for (int t = 0; t < T; ++t) {
    if constexpr (W::kHalves) {
      V::half_sums(x[t].half_sums, factor, starts[t]);
    } else {
      V::block_sums(x[t].half_sums, factor, starts[t]);
      if constexpr (W::kHasMinimum) V::block_sums(x[t].half_sums, 1, starts[t] + 8);
    }
  }
  Tile<V, P, T> tile;
  clear(tile);
  size_t b = 0;
  for (; W::kPairs && b + 2 <= blocks; b += 2) {
    add_block<V, W, P, T>(w, x, b, starts, tile);
    add_block<V, W, P, T>(w, x, b | 1, starts, tile);
  }
  for (; b < blocks; ++b) add_block<V, W, P, T>(w, x, b, starts, tile);
  add_to(tile, acc_stride, acc);
}

// The same for tokens [t, tokens), in tiles of T, then of halves of that.
template <class V, class W, int P, int T>
RILL_INLINE void add_chunk_tiles(const W (&w)[P], const ActivationChunk* x, size_t t, size_t tokens,
                                 size_t blocks, int factor, size_t acc_stride, float* acc) {
  for (; t + T <= tokens; t += T) {
    RILL_UNROLL
    for (int p = 0; p < P; ++p) w[p].prefetch_for_tile(t, T);
    add_chunk<V, W, P, T>(w, x + t, blocks, factor, acc_stride, acc + t * acc_stride);
  }
  if constexpr (T > 1) {
    if (t < tokens) {
      add_chunk_tiles<V, W, P, smaller_tile(T)>(w, x, t, tokens, blocks, factor, acc_stride, acc);
    }
  }
}

constexpr size_t num_chunks(size_t cols) { return (cols + kChunkValues - 1) / kChunkValues; }
constexpr size_t blocks_of_chunk(size_t cols, size_t chunk) {
  return min_of(kBlocksPerChunk, cols / 32 - chunk * kBlocksPerChunk);
}

// P panels and at most T tokens, straight from the packed weights. The panels lie `apart` from each
// other; `next_panel` is the first of those that come after them.
template <class V, PanelFormat kFormat, int P, int T, bool kPrefetch>
void few_tokens(const MatmulArgs& a, size_t first_panel, size_t apart, size_t next_panel) {
  using W = PackedChunk<V, kFormat>;
  constexpr size_t kChunkBytes = quant::panel_chunk_bytes(kFormat, kBlocksPerChunk);
  alignas(64) float acc[T * P * kPanelRows] = {};
  const size_t chunks = num_chunks(a.cols);
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    // The chunk after this one, in the order in which it lies; more or less was slower.
    const bool last = chunk + 1 == chunks;
    const size_t ahead_chunk = last ? 0 : chunk + 1;
    const size_t ahead_panel = last ? next_panel : first_panel;
    W w[P];
    RILL_UNROLL
    for (size_t p = 0; p < P; ++p) {
      const uint8_t* ahead =
          a.panels + (ahead_panel + p * apart) * a.panel_bytes + ahead_chunk * kChunkBytes;
      w[p] = W(a.panels + (first_panel + p * apart) * a.panel_bytes + chunk * kChunkBytes,
               kPrefetch ? ahead : nullptr);
    }
    add_chunk_tiles<V, W, P, T>(w, a.chunks + chunk * a.chunk_stride, 0, a.tokens,
                                blocks_of_chunk(a.cols, chunk), start_factor<V, kFormat>(),
                                P * kPanelRows, acc);
  }
  store_panels<P>(a, acc, first_panel, apart);
}

// All tokens of a group against P panels of one chunk.
template <class V, class W, int P>
void add_token_tiles(const W (&w)[P], const ActivationChunk* x, size_t tokens, size_t blocks,
                     int factor, float* acc) {
  constexpr int kTokens = W::kHalves ? V::kHalvesTokens : V::kTileTokens;
  add_chunk_tiles<V, W, P, kTokens>(w, x, 0, tokens, blocks, factor, kGroupRows, acc);
}

// One chunk of up to kGroupPanels panels.
template <class V, PanelFormat kFormat>
void add_group_chunk(const uint8_t* chunk, size_t panel_bytes, size_t panels,
                     const ActivationChunk* x, size_t tokens, size_t blocks,
                     UnpackedChunk* unpacked, float* acc) {
  using Packed = PackedChunk<V, kFormat>;
  using W = UnpackedView<V, Packed::kBytes, Packed::kHasMinimum, Packed::kHalves>;
  constexpr int kFactor = start_factor<V, kFormat>();
  constexpr size_t kTilePanels = V::kTilePanels;
  for (size_t p = 0; p < panels; ++p) {
    unpack<V>(Packed(chunk + p * panel_bytes, nullptr), blocks, unpacked + p);
  }
  constexpr size_t kChunkBytes = quant::panel_chunk_bytes(kFormat, kBlocksPerChunk);
  const size_t lines_per_token = (kChunkBytes / 64 + tokens - 1) / tokens;
  const auto view = [&](size_t p) {
    return W(unpacked + p,
             {chunk + p * panel_bytes + kChunkBytes, kChunkBytes, lines_per_token * 64});
  };
  size_t p = 0;
  for (; p + kTilePanels <= panels; p += kTilePanels) {
    W w[kTilePanels];
    for (size_t i = 0; i < kTilePanels; ++i) w[i] = view(p + i);
    add_token_tiles<V>(w, x, tokens, blocks, kFactor, acc + p * kPanelRows);
  }
  for (; p < panels; ++p) {
    const W w[1] = {view(p)};
    add_token_tiles<V>(w, x, tokens, blocks, kFactor, acc + p * kPanelRows);
  }
}

template <class V, PanelFormat kFormat>
void many_tokens(const MatmulArgs& a, size_t first_panel, size_t panels) {
  UnpackedChunk unpacked[kGroupPanels];
  alignas(64) float acc[kGroupTokens * kGroupRows];
  const size_t first_row = first_panel * kPanelRows;
  for (size_t t = 0; t < a.tokens; t += kGroupTokens) {
    const size_t tokens = min_of(kGroupTokens, a.tokens - t);
    memset(acc, 0, tokens * kGroupRows * sizeof(float));
    for (size_t chunk = 0; chunk < num_chunks(a.cols); ++chunk) {
      const uint8_t* start = a.panels + first_panel * a.panel_bytes +
                             chunk * quant::panel_chunk_bytes(kFormat, kBlocksPerChunk);
      add_group_chunk<V, kFormat>(start, a.panel_bytes, panels,
                                  a.chunks + chunk * a.chunk_stride + t, tokens,
                                  blocks_of_chunk(a.cols, chunk), unpacked, acc);
    }
    store_rows(acc, kGroupRows, min_of(panels * kPanelRows, a.rows - first_row), tokens,
               a.out + t * a.out_stride + first_row, a.out_stride);
  }
}

// Up to V::kDirectTokens tokens, as the processor reads memory best (MatmulArgs::prefetch): without
// asking ahead one panel at a time, whose bytes lie in the order in which they are read.
template <class V, PanelFormat kFormat, bool kPrefetch>
void all_few_tokens(const MatmulArgs& a, size_t panels) {
  size_t p = 0;
  if constexpr (kPrefetch) {
    constexpr size_t kStreams = V::kDirectPanels;
    if (a.tokens <= 2) {
      // Streams that go on from panel to panel are read faster than neighbours, each of which ends
      // where another one began.
      const size_t apart = panels / kStreams;
      for (; p < apart; ++p) {
        const size_t next = p + 1 < apart ? p + 1 : kStreams * apart;
        few_tokens<V, kFormat, kStreams, 2, kPrefetch>(a, p, apart, next);
      }
      p = kStreams * apart;
    }
  }
  for (; p < panels; ++p) few_tokens<V, kFormat, 1, V::kDirectTokens, kPrefetch>(a, p, 1, p + 1);
}

template <class V, PanelFormat kFormat>
void matmul_quantized(const MatmulArgs& a) {
  const size_t panels = (a.rows + kPanelRows - 1) / kPanelRows;
  if (a.tokens <= V::kDirectTokens) {
    if (a.prefetch) return all_few_tokens<V, kFormat, true>(a, panels);
    return all_few_tokens<V, kFormat, false>(a, panels);
  }
  for (size_t p = 0; p < panels; p += kGroupPanels) {
    many_tokens<V, kFormat>(a, p, min_of(kGroupPanels, panels - p));
  }
}

}  // namespace
}  // namespace rill::kernels
