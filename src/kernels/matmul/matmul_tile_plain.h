// SPDX-License-Identifier: Apache-2.0
// Products with F32, F16 and BF16 weights (docs/numerics.md, rule 5) over vectors of 16 rows; see
// matmul_tile.h.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/matmul/matmul_tile_common.h"

namespace rill::kernels {
namespace {

// Weights of a panel's column.
template <class V>
struct F32Weights {
  static constexpr size_t kBytes = 4;
  static RILL_INLINE typename V::F32 load(const uint8_t* p) {
    return V::load_f32(reinterpret_cast<const float*>(p));
  }
};
template <class V>
struct F16Weights {
  static constexpr size_t kBytes = 2;
  static RILL_INLINE typename V::F32 load(const uint8_t* p) { return V::load_half(p); }
};
template <class V>
struct BF16Weights {
  static constexpr size_t kBytes = 2;
  static RILL_INLINE typename V::F32 load(const uint8_t* p) { return V::load_bf16(p); }
};

// How far ahead of a panel's column the memory is asked, in bytes: twice as far, or not at all, was
// slower (rill bench, 1.2B F16).
constexpr size_t kPlainAhead = 1024;

// acc[t][16 p ..] += the product of a chunk of `cols` columns. Panel p starts at w + p *
// panel_bytes.
template <class V, class W, int P, int T, bool kPrefetch>
RILL_INLINE void add_plain_chunk(const uint8_t* w, size_t panel_bytes, const float* x,
                                 size_t x_stride, size_t cols, size_t acc_stride, float* acc) {
  Tile<V, P, T> tile;
  clear(tile);
  for (size_t k = 0; k < cols; ++k) {
    typename V::F32 weights[P];
    RILL_UNROLL
    for (int p = 0; p < P; ++p) {
      const uint8_t* column = w + static_cast<size_t>(p) * panel_bytes + k * kPanelRows * W::kBytes;
      if constexpr (kPrefetch) __builtin_prefetch(column + kPlainAhead);
      weights[p] = W::load(column);
    }
    RILL_UNROLL
    for (int t = 0; t < T; ++t) {
      const typename V::F32 value = V::set_f32(x[static_cast<size_t>(t) * x_stride + k]);
      RILL_UNROLL
      for (int p = 0; p < P; ++p) tile.c[t][p] = V::fma(weights[p], value, tile.c[t][p]);
    }
  }
  add_to(tile, acc_stride, acc);
}

// The same for any number of tokens.
template <class V, class W, int P, int T, bool kPrefetch>
RILL_INLINE void add_plain_tiles(const uint8_t* w, size_t panel_bytes, const float* x,
                                 size_t x_stride, size_t tokens, size_t cols, size_t acc_stride,
                                 float* acc) {
  size_t t = 0;
  for (; t + T <= tokens; t += T) {
    add_plain_chunk<V, W, P, T, kPrefetch>(w, panel_bytes, x + t * x_stride, x_stride, cols,
                                           acc_stride, acc + t * acc_stride);
  }
  if constexpr (T > 1) {
    if (t < tokens) {
      add_plain_tiles<V, W, P, smaller_tile(T), kPrefetch>(w, panel_bytes, x + t * x_stride,
                                                           x_stride, tokens - t, cols, acc_stride,
                                                           acc + t * acc_stride);
    }
  }
}

// Up to this many tokens the memory is the limit: a chunk's second tile finds the weights in the
// first cache level.
template <class V>
constexpr size_t kFewTokens = 2 * V::kDirectTokens;

// P panels that lie `apart` from each other.
template <class V, class W, int P, bool kPrefetch>
void few_plain_tokens(const MatmulArgs& a, size_t first_panel, size_t apart) {
  alignas(64) float acc[kFewTokens<V> * P * kPanelRows] = {};
  const uint8_t* w = a.panels + first_panel * a.panel_bytes;
  for (size_t k = 0; k < a.cols; k += kChunkValues) {
    add_plain_tiles<V, W, P, V::kDirectTokens, kPrefetch>(
        w + k * kPanelRows * W::kBytes, apart * a.panel_bytes, a.x + k, a.x_stride, a.tokens,
        min_of(kChunkValues, a.cols - k), P * kPanelRows, acc);
  }
  store_panels<P>(a, acc, first_panel, apart);
}

template <class V, class W, int P>
void many_plain_tokens(const MatmulArgs& a, size_t first_panel) {
  alignas(64) float acc[kGroupTokens * P * kPanelRows];
  const size_t first_row = first_panel * kPanelRows;
  const uint8_t* panel = a.panels + first_panel * a.panel_bytes;
  for (size_t t = 0; t < a.tokens; t += kGroupTokens) {
    const size_t tokens = min_of(kGroupTokens, a.tokens - t);
    memset(acc, 0, tokens * P * kPanelRows * sizeof(float));
    for (size_t k = 0; k < a.cols; k += kChunkValues) {
      add_plain_tiles<V, W, P, V::kPlainTileTokens, false>(
          panel + k * kPanelRows * W::kBytes, a.panel_bytes, a.x + t * a.x_stride + k, a.x_stride,
          tokens, min_of(kChunkValues, a.cols - k), P * kPanelRows, acc);
    }
    store_rows(acc, P * kPanelRows, min_of(P * kPanelRows, a.rows - first_row), tokens,
               a.out + t * a.out_stride + first_row, a.out_stride);
  }
}

// As all_few_tokens; streams of columns are read fastest together in either way.
template <class V, class W, bool kPrefetch>
void all_few_plain_tokens(const MatmulArgs& a, size_t panels) {
  constexpr size_t kStreams = V::kPlainDirectPanels;
  const size_t apart = panels / kStreams;
  for (size_t p = 0; p < apart; ++p) few_plain_tokens<V, W, kStreams, kPrefetch>(a, p, apart);
  for (size_t p = kStreams * apart; p < panels; ++p) few_plain_tokens<V, W, 1, kPrefetch>(a, p, 1);
}

template <class V, class W>
void matmul_plain(const MatmulArgs& a) {
  const size_t panels = (a.rows + kPanelRows - 1) / kPanelRows;
  if (a.tokens <= kFewTokens<V>) {
    if (a.prefetch) return all_few_plain_tokens<V, W, true>(a, panels);
    return all_few_plain_tokens<V, W, false>(a, panels);
  }
  size_t p = 0;
  for (; p + V::kPlainTilePanels <= panels; p += V::kPlainTilePanels)
    many_plain_tokens<V, W, V::kPlainTilePanels>(a, p);
  for (; p < panels; ++p) many_plain_tokens<V, W, 1>(a, p);
}

}  // namespace
}  // namespace rill::kernels
