// SPDX-License-Identifier: Apache-2.0
// One tile of attention for a few queries, and its merge into a running result (docs/numerics.md,
// rule 7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel_table.h"
#include "tensor/dtype.h"

namespace rill::ops {

/// What attention holds for num_queries queries: maxima and sums [num_queries], weighted values
/// [num_queries, d] with rows out_stride apart.
struct SoftmaxState {
  float* m = nullptr;
  float* l = nullptr;
  float* o = nullptr;
  size_t o_stride = 0;

  [[nodiscard]] SoftmaxState from(size_t query) const {
    return {m + query, l + query, o + query * o_stride, o_stride};
  }
};

/// Keys or values of a tile: rows of head_dim elements, stride elements apart.
struct TileRows {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  size_t stride = 0;

  [[nodiscard]] TileRows from(size_t row) const {
    return {data + row * stride * row_bytes(dtype, 1), dtype, stride};
  }
  [[nodiscard]] const float* f32(size_t row) const {
    return reinterpret_cast<const float*>(data) + row * stride;
  }
  [[nodiscard]] const uint16_t* f16(size_t row) const {
    return reinterpret_cast<const uint16_t*>(data) + row * stride;
  }
};

/// Two runs of elements that are needed soon; of each, half as many are asked for as a call reads,
/// into the first cache level (near) or the second.
struct TileRowsAhead {
  TileRows first;
  TileRows second;
  bool near = false;

  [[nodiscard]] kernels::ElementsAhead<float> f32() const {
    return {first.f32(0), second.f32(0), near};
  }
  [[nodiscard]] kernels::ElementsAhead<uint16_t> f16() const {
    return {first.f16(0), second.f16(0), near};
  }
};

/// Query vectors, q_stride apart.
struct TileQueries {
  const float* q = nullptr;
  size_t q_stride = 0;
  size_t num_queries = 0;
  size_t head_dim = 0;
};

/// scores[i, j] = q_i . k_j for the tile's keys begin <= j < end, which lie in groups of
/// kernels::kKeyGroup; other keys of the groups that these touch may be written as well.
inline void tile_key_scores(const kernels::KernelTable& table, const TileQueries& queries,
                            const TileRows& k, size_t begin, size_t end, float* scores,
                            const TileRowsAhead& ahead = {}) {
  constexpr size_t kGroup = kernels::kKeyGroup;
  const size_t first = begin / kGroup;
  const size_t groups = (end + kGroup - 1) / kGroup - first;
  const auto& [q, q_stride, num_queries, d] = queries;
  if (k.dtype == DType::kF32) {
    table.dot_keys_f32({q, q_stride, num_queries, k.f32(first * kGroup), groups, d, ahead.f32()},
                       scores + first * kGroup);
  } else {
    table.dot_keys_f16({q, q_stride, num_queries, k.f16(first * kGroup), groups, d, ahead.f16()},
                       scores + first * kGroup);
  }
}

/// out[i] = sum_j p[i, j - begin] * v_j
inline void tile_values(const kernels::KernelTable& table, const float* p, size_t num_queries,
                        const TileRows& v, size_t begin, size_t end, size_t head_dim, float* out,
                        const TileRowsAhead& ahead = {}) {
  if (v.dtype == DType::kF32) {
    table.weighted_sum_f32(
        {p, num_queries, v.f32(begin), v.stride, end - begin, head_dim, ahead.f32()}, out);
  } else {
    table.weighted_sum_f16(
        {p, num_queries, v.f16(begin), v.stride, end - begin, head_dim, ahead.f16()}, out);
  }
}

/// Puts the first tile's result in place, or merges a later one.
inline void merge_tile(const kernels::KernelTable& table, const SoftmaxState& tile,
                       size_t num_queries, size_t head_dim, bool first,
                       const SoftmaxState& running) {
  if (!first) {
    table.merge_tile({tile.m, tile.l, tile.o, num_queries, head_dim, running.o_stride}, running.m,
                     running.l, running.o);
    return;
  }
  std::copy_n(tile.m, num_queries, running.m);
  std::copy_n(tile.l, num_queries, running.l);
  for (size_t i = 0; i < num_queries; ++i) {
    std::copy_n(tile.o + i * head_dim, head_dim, running.o + i * running.o_stride);
  }
}

/// Divides the weighted values by the sums.
inline void finish_softmax(const kernels::KernelTable& table, size_t num_queries, size_t head_dim,
                           const SoftmaxState& running) {
  for (size_t i = 0; i < num_queries; ++i) {
    float* o = running.o + i * running.o_stride;
    table.divide(o, running.l[i], head_dim, o);
  }
}

}  // namespace rill::ops
