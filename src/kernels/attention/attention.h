// SPDX-License-Identifier: Apache-2.0
// Contracts of the attention kernels: parts of one tile of 64 keys for several query heads that
// share a KV head (docs/numerics.md, rules 6 and 7). No result depends on how many queries are
// given together. Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

/// Keys per tile.
inline constexpr size_t kAttentionTile = 64;
/// Keys of a cache that lie side by side: one element of each, then the next (in KeyOrder). A
/// vector then holds a term of 16 dot products, whose lanes add up without moving within vectors.
inline constexpr size_t kKeyGroup = 16;

/// Elements that are needed soon (a hint): two runs, of each of which a call asks for half as many
/// as it reads, in turn, so that memory sees two streams. Null: nothing. `near`: into the first
/// cache level instead of the second.
template <typename Element>
struct ElementsAhead {
  const Element* first;
  const Element* second;
  bool near;
};

/// Query vectors and the rows that they meet. Strides in elements.
struct AttentionDots {
  const float* q;  ///< [num_queries, head_dim]
  size_t q_stride;
  size_t num_queries;
  const float* k;  ///< [count, head_dim]
  size_t k_stride;
  size_t count;
  size_t head_dim;
};

/// scores[i * kAttentionTile + j] = q_i . k_j over 16 lanes, for j < count <= kAttentionTile.
using dot_rows_f32_fn = void(const AttentionDots& args, float* scores);

/// Query vectors and the groups of a cache's keys that they meet.
template <typename Element>
struct AttentionKeyDots {
  const float* q;  ///< [num_queries, head_dim]
  size_t q_stride;
  size_t num_queries;
  const Element* k;  ///< [num_groups, head_dim in KeyOrder, kKeyGroup]
  size_t num_groups;
  size_t head_dim;
  ElementsAhead<Element> ahead;
};

/// scores[i * kAttentionTile + j] = q_i . k_j over 16 lanes, for j < num_groups * kKeyGroup <=
/// kAttentionTile.
using dot_keys_f32_fn = void(const AttentionKeyDots<float>& args, float* scores);
/// Keys in half precision, widened exactly.
using dot_keys_f16_fn = void(const AttentionKeyDots<uint16_t>& args, float* scores);

/// For each of num_queries rows of kAttentionTile scores: s_j = scores[j] * scale for begin <= j <
/// end; m = max s_j (NaN never wins); scores[j] = exp(s_j - m), +0 for other j; l = sum of all 64
/// over 16 lanes. Needs begin < end <= kAttentionTile.
using softmax_tile_fn = void(size_t num_queries, size_t begin, size_t end, float scale,
                             float* scores, float* m, float* l);

/// Probabilities and the values that they weigh.
template <typename Element>
struct AttentionSums {
  const float* p;  ///< [num_queries, kAttentionTile], the first `count` of each row
  size_t num_queries;
  const Element* v;  ///< [count, head_dim]
  size_t v_stride;
  size_t count;
  size_t head_dim;
  ElementsAhead<Element> ahead;
};

/// out[i * head_dim + c] = chain fma(p_i[j], v_j[c], .) over ascending j from +0.
using weighted_sum_f32_fn = void(const AttentionSums<float>& args, float* out);
using weighted_sum_f16_fn = void(const AttentionSums<uint16_t>& args, float* out);

/// Merges a tile's (m, l, o) of each query into the running one, o rows of head_dim values
/// out_stride apart:
///   M = max(m_a, m_b); l = l_a * exp(m_a - M) + l_b * exp(m_b - M); o likewise; products and sum
///   rounded.
struct AttentionMerge {
  const float* tile_m;  ///< [num_queries]
  const float* tile_l;
  const float* tile_o;  ///< [num_queries, head_dim]
  size_t num_queries;
  size_t head_dim;
  size_t out_stride;
};
using merge_tile_fn = void(const AttentionMerge& args, float* m, float* l, float* out);

/// out[i] = x[i] / divisor. out may be x.
using divide_fn = void(const float* x, float divisor, size_t size, float* out);

/// Conversions to and from half precision; to half rounds to nearest even, overflow gives infinity.
using f32_to_f16_fn = void(const float* x, size_t size, uint16_t* out);
using f16_to_f32_fn = void(const uint16_t* x, size_t size, float* out);

}  // namespace rill::kernels
