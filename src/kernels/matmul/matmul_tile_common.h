// SPDX-License-Identifier: Apache-2.0
// What the tiles of quantized and of plain weights share.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/matmul/matmul.h"
#include "quant/blocks.h"

#define RILL_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define RILL_UNROLL _Pragma("unroll")
#else
#define RILL_UNROLL _Pragma("GCC unroll 16")
#endif

namespace rill::kernels {
namespace {

using quant::kChunkValues;
using quant::kPanelRows;

// Prefill: tokens served by one unpacked chunk; their running sums stay in the second cache level.
constexpr size_t kGroupTokens = 128;

// The next smaller tile for what a tile of T tokens leaves over: a power of two.
constexpr int smaller_tile(int tokens) { return tokens > 4 ? 4 : tokens > 2 ? 2 : 1; }

constexpr size_t min_of(size_t a, size_t b) { return a < b ? a : b; }

// The running values of a tile of P panels by T tokens.
template <class V, int P, int T>
struct Tile {
  typename V::F32 c[T][P];
};

template <class V, int P, int T>
RILL_INLINE void clear(Tile<V, P, T>& tile) {
  RILL_UNROLL
  for (int t = 0; t < T; ++t) {
    RILL_UNROLL
    for (int p = 0; p < P; ++p) tile.c[t][p] = V::zero_f32();
  }
}

// acc[t][16 p ..] += the tile.
template <class V, int P, int T>
RILL_INLINE void add_to(const Tile<V, P, T>& tile, size_t acc_stride, float* acc) {
  RILL_UNROLL
  for (int t = 0; t < T; ++t) {
    RILL_UNROLL
    for (int p = 0; p < P; ++p) {
      float* out = acc + static_cast<size_t>(t) * acc_stride + static_cast<size_t>(p) * kPanelRows;
      V::store_f32(out, V::add(V::load_f32(out), tile.c[t][p]));
    }
  }
}

// Copies sums of `rows` rows and `tokens` tokens to the output.
inline void store_rows(const float* acc, size_t acc_stride, size_t rows, size_t tokens, float* out,
                       size_t out_stride) {
  for (size_t t = 0; t < tokens; ++t)
    memcpy(out + t * out_stride, acc + t * acc_stride, rows * sizeof(float));
}

// Copies sums acc[token][panel][row] of P panels, which lie `apart` from each other, to the output.
template <size_t P>
void store_panels(const MatmulArgs& a, const float* acc, size_t first_panel, size_t apart) {
  for (size_t p = 0; p < P; ++p) {
    const size_t first_row = (first_panel + p * apart) * kPanelRows;
    store_rows(acc + p * kPanelRows, P * kPanelRows, min_of(kPanelRows, a.rows - first_row),
               a.tokens, a.out + first_row, a.out_stride);
  }
}

}  // namespace
}  // namespace rill::kernels
