// SPDX-License-Identifier: Apache-2.0
// Scores of a tile of attention over Vec: queries against rows, and against the groups of keys of a
// cache. For attention_simd.h, which is included after the constants of the tier.
#pragma once

#include "kernels/attention/attention.h"

namespace rill::kernels {
namespace {

/// The dot product lanes of one query and one key.
inline Vec dot_lanes(const float* q, const float* k, size_t head_dim) {
  Vec sum = zero();
  size_t c = 0;
  for (; c + 16 <= head_dim; c += 16) sum = fma(load(q + c), load(k + c), sum);
  if (c < head_dim)
    sum = fma(load_first(q + c, head_dim - c), load_first(k + c, head_dim - c), sum);
  return sum;
}

/// The lanes of Queries x Keys products, at [query * Keys + key], for head_dim a multiple of 16.
template <size_t Queries, size_t Keys>
RILL_INLINE void dot_block(const AttentionDots& args, const float* q, const float* k, Vec* lanes) {
  Vec sums[Queries * Keys];
  RILL_UNROLL
  for (size_t i = 0; i < Queries * Keys; ++i) sums[i] = zero();
  for (size_t c = 0; c < args.head_dim; c += 16) {
    Vec key[Keys];
    RILL_UNROLL
    for (size_t j = 0; j < Keys; ++j) key[j] = load(k + j * args.k_stride + c);
    RILL_UNROLL
    for (size_t i = 0; i < Queries; ++i) {
      const Vec query = load(q + i * args.q_stride + c);
      RILL_UNROLL
      for (size_t j = 0; j < Keys; ++j) sums[i * Keys + j] = fma(query, key[j], sums[i * Keys + j]);
    }
  }
  RILL_UNROLL
  for (size_t i = 0; i < Queries * Keys; ++i) lanes[i] = sums[i];
}

/// Any count of keys of one query, 16 at a time so that their sums fold together.
inline void dot_one_query(const AttentionDots& args, size_t query, size_t first_key,
                          float* scores) {
  const float* q = args.q + query * args.q_stride;
  float* out = scores + query * kAttentionTile;
  for (size_t j = first_key; j < args.count; j += 16) {
    const size_t keys = args.count - j < 16 ? args.count - j : 16;
    Vec lanes[16];
    const bool whole = args.head_dim % 16 == 0 && keys == 16;
    if (whole) {
      RILL_UNROLL
      for (size_t n = 0; n < 16; n += kDotKeys) {
        dot_block<1, kDotKeys>(args, q, args.k + (j + n) * args.k_stride, lanes + n);
      }
    } else {
      for (size_t n = 0; n < 16; ++n) {
        lanes[n] =
            n < keys ? dot_lanes(q, args.k + (j + n) * args.k_stride, args.head_dim) : zero();
      }
    }
    store_first(out + j, fold_each(lanes), keys);
  }
}

/// Four queries against whole groups of four keys; returns the first key that is left.
inline size_t dot_four_queries(const AttentionDots& args, size_t query, float* scores) {
  const float* q = args.q + query * args.q_stride;
  size_t j = 0;
  for (; j + 4 <= args.count; j += 4) {
    Vec lanes[16];  // [query, key]
    RILL_UNROLL
    for (size_t i = 0; i < 4; i += kDotQueries) {
      dot_block<kDotQueries, 4>(args, q + i * args.q_stride, args.k + j * args.k_stride,
                                lanes + i * 4);
    }
    float folded[16];
    store(folded, fold_each(lanes));
    RILL_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      memcpy(scores + (query + i) * kAttentionTile + j, folded + i * 4, 4 * sizeof(float));
    }
  }
  return j;
}

inline void dot_rows(const AttentionDots& args, float* scores) {
  size_t query = 0;
  if (args.head_dim % 16 == 0) {
    for (; query + 4 <= args.num_queries; query += 4) {
      const size_t first_key = dot_four_queries(args, query, scores);
      if (first_key == args.count) continue;
      for (size_t i = 0; i < 4; ++i) dot_one_query(args, query + i, first_key, scores);
    }
  }
  for (; query < args.num_queries; ++query) dot_one_query(args, query, 0, scores);
}

/// Asks for `count` elements.
template <typename Element>
RILL_INLINE void prefetch(const Element* elements, size_t count, bool near) {
  constexpr size_t kLine = 64 / sizeof(Element);
  constexpr int kRead = 0, kSecondLevel = 2, kFirstLevel = 3;
  if (near) {
    for (size_t c = 0; c < count; c += kLine) __builtin_prefetch(elements + c, kRead, kFirstLevel);
  } else {
    for (size_t c = 0; c < count; c += kLine) __builtin_prefetch(elements + c, kRead, kSecondLevel);
  }
}

/// Asks for `count` elements of each run, `offset` elements in.
template <typename Element>
RILL_INLINE void prefetch(const ElementsAhead<Element>& ahead, size_t offset, size_t count) {
  prefetch(ahead.first + offset, count, ahead.near);
  prefetch(ahead.second + offset, count, ahead.near);
}

/// Some queries and groups of keys of AttentionKeyDots.
template <typename Element>
struct KeyBlock {
  const float* q;
  size_t q_stride;
  const Element* k;
  size_t head_dim;
  ElementsAhead<Element> ahead;
};

/// Lane `lane` of the dot products of Queries queries with Groups groups of keys, at [query *
/// Groups + group]. `next` counts the elements of a key that were read.
template <size_t Queries, size_t Groups, typename Element>
RILL_INLINE void key_lane(const KeyBlock<Element>& block, size_t lane, size_t& next, Vec* sums) {
  const size_t elements = (block.head_dim + 15 - lane) / 16;
  if (block.ahead.first != nullptr) {
    constexpr size_t kHalf = Groups * kKeyGroup / 2;
    prefetch(block.ahead, next * kHalf, elements * kHalf);
  }
  const float* q = block.q + lane;
  const Element* k = block.k + next * kKeyGroup;
  next += elements;
  RILL_UNROLL
  for (size_t i = 0; i < Queries * Groups; ++i) sums[i] = zero();
  for (size_t e = 0; e < elements; ++e, q += 16, k += kKeyGroup) {
    Vec key[Groups];
    RILL_UNROLL
    for (size_t n = 0; n < Groups; ++n) key[n] = load(k + n * block.head_dim * kKeyGroup);
    RILL_UNROLL
    for (size_t i = 0; i < Queries; ++i) {
      const Vec query = set1(q[i * block.q_stride]);
      RILL_UNROLL
      for (size_t n = 0; n < Groups; ++n)
        sums[i * Groups + n] = fma(query, key[n], sums[i * Groups + n]);
    }
  }
}

/// The sum of the lanes `lane`, lane + Step, lane + 2 * Step, ..., as fold() adds them: the order
/// of KeyOrder.
template <size_t Queries, size_t Groups, size_t Step, typename Element>
RILL_INLINE void key_lanes(const KeyBlock<Element>& block, size_t lane, size_t& next, Vec* sums) {
  if constexpr (Step == 16) {
    key_lane<Queries, Groups>(block, lane, next, sums);
  } else {
    Vec others[Queries * Groups];
    key_lanes<Queries, Groups, 2 * Step>(block, lane, next, sums);
    key_lanes<Queries, Groups, 2 * Step>(block, lane + Step, next, others);
    RILL_UNROLL
    for (size_t i = 0; i < Queries * Groups; ++i) sums[i] = add(sums[i], others[i]);
  }
}

template <size_t Queries, size_t Groups, typename Element>
inline void dot_key_block(const KeyBlock<Element>& block, float* scores) {
  Vec sums[Queries * Groups];
  size_t next = 0;
  key_lanes<Queries, Groups, 1>(block, 0, next, sums);
  RILL_UNROLL
  for (size_t i = 0; i < Queries; ++i) {
    RILL_UNROLL
    for (size_t n = 0; n < Groups; ++n)
      store(scores + i * kAttentionTile + n * kKeyGroup, sums[i * Groups + n]);
  }
}

/// All groups of keys for Queries queries, the first of which asks for the elements ahead.
template <size_t Queries, typename Element>
inline void dot_keys_of(const AttentionKeyDots<Element>& args, size_t query, float* scores) {
  const auto block_at = [&](size_t group) {
    const size_t first = group * kKeyGroup * args.head_dim;
    KeyBlock<Element> block = {
        args.q + query * args.q_stride, args.q_stride, args.k + first, args.head_dim, {}};
    if (query == 0 && args.ahead.first != nullptr)
      block.ahead = {args.ahead.first + first / 2, args.ahead.second + first / 2, args.ahead.near};
    return block;
  };
  float* out = scores + query * kAttentionTile;
  size_t group = 0;
  for (; group + kKeyGroups <= args.num_groups; group += kKeyGroups)
    dot_key_block<Queries, kKeyGroups>(block_at(group), out + group * kKeyGroup);
  for (; group < args.num_groups; ++group)
    dot_key_block<Queries, 1>(block_at(group), out + group * kKeyGroup);
}

template <typename Element>
inline void dot_keys(const AttentionKeyDots<Element>& args, float* scores) {
  size_t query = 0;
  for (; query + 4 <= args.num_queries; query += 4) dot_keys_of<4>(args, query, scores);
  for (; query + 2 <= args.num_queries; query += 2) dot_keys_of<2>(args, query, scores);
  if (query < args.num_queries) dot_keys_of<1>(args, query, scores);
}

}  // namespace
}  // namespace rill::kernels
