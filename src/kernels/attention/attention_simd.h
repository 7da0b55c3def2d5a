// SPDX-License-Identifier: Apache-2.0
// The attention kernels over Vec. Include a vec_<tier>.h and define RILL_TIER(name) first.
// head_dim may be anything; 64 is the fast case of every published model, other multiples of 16
// take the same code with loops that the compiler cannot unroll.
#include "kernels/attention/attention.h"
#include "kernels/attention/dots_simd.h"
#include "kernels/elementwise/functions_simd.h"

namespace rill::kernels {
namespace {

/// Columns c .. c + 16 * Vecs of Queries sums.
template <size_t Queries, size_t Vecs, typename Element>
inline void sum_block(const AttentionSums<Element>& args, size_t query, size_t c, float* out) {
  Vec sums[Queries * Vecs];
  RILL_UNROLL
  for (size_t i = 0; i < Queries * Vecs; ++i) sums[i] = zero();
  const float* p = args.p + query * kAttentionTile;
  const Element* v = args.v + c;
  const bool asks_ahead = args.ahead.first != nullptr && query == 0 && c == 0;
  for (size_t j = 0; j < args.count; ++j, v += args.v_stride) {
    if (asks_ahead && j % 2 == 0) prefetch(args.ahead, j / 2 * args.head_dim, args.head_dim);
    Vec value[Vecs];
    RILL_UNROLL
    for (size_t n = 0; n < Vecs; ++n) value[n] = load(v + 16 * n);
    RILL_UNROLL
    for (size_t i = 0; i < Queries; ++i) {
      const Vec weight = set1(p[i * kAttentionTile + j]);
      RILL_UNROLL
      for (size_t n = 0; n < Vecs; ++n)
        sums[i * Vecs + n] = fma(weight, value[n], sums[i * Vecs + n]);
    }
  }
  RILL_UNROLL
  for (size_t i = 0; i < Queries; ++i) {
    RILL_UNROLL
    for (size_t n = 0; n < Vecs; ++n)
      store(out + (query + i) * args.head_dim + c + 16 * n, sums[i * Vecs + n]);
  }
}

template <size_t Queries, typename Element>
inline void sum_queries(const AttentionSums<Element>& args, size_t query, float* out) {
  size_t c = 0;
  for (; c + 16 * kSumVecs <= args.head_dim; c += 16 * kSumVecs)
    sum_block<Queries, kSumVecs>(args, query, c, out);
  for (; c + 16 <= args.head_dim; c += 16) sum_block<Queries, 1>(args, query, c, out);
  if (c == args.head_dim) return;
  const size_t rest = args.head_dim - c;
  for (size_t i = query; i < query + Queries; ++i) {
    Vec sum = zero();
    for (size_t j = 0; j < args.count; ++j) {
      sum = fma(set1(args.p[i * kAttentionTile + j]),
                load_first(args.v + j * args.v_stride + c, rest), sum);
    }
    store_first(out + i * args.head_dim + c, sum, rest);
  }
}

template <typename Element>
inline void weighted_sum(const AttentionSums<Element>& args, float* out) {
  size_t query = 0;
  for (; query + 4 <= args.num_queries; query += 4) {
    for (size_t i = 0; i < 4; i += kSumQueries) sum_queries<kSumQueries>(args, query + i, out);
  }
  for (; query < args.num_queries; ++query) sum_queries<1>(args, query, out);
}

/// o = o * b + x * a
inline void merge_values(const float* x, float a, float b, size_t size, float* o) {
  const Vec factor_x = set1(a);
  const Vec factor_o = set1(b);
  size_t c = 0;
  for (; c + 16 <= size; c += 16)
    store(o + c, add(mul(load(o + c), factor_o), mul(load(x + c), factor_x)));
  if (c == size) return;
  const size_t rest = size - c;
  store_first(o + c,
              add(mul(load_first(o + c, rest), factor_o), mul(load_first(x + c, rest), factor_x)),
              rest);
}

}  // namespace

void RILL_TIER(dot_rows_f32)(const AttentionDots& args, float* scores) { dot_rows(args, scores); }

void RILL_TIER(dot_keys_f32)(const AttentionKeyDots<float>& args, float* scores) {
  dot_keys(args, scores);
}
void RILL_TIER(dot_keys_f16)(const AttentionKeyDots<uint16_t>& args, float* scores) {
  dot_keys(args, scores);
}

void RILL_TIER(weighted_sum_f32)(const AttentionSums<float>& args, float* out) {
  weighted_sum(args, out);
}
void RILL_TIER(weighted_sum_f16)(const AttentionSums<uint16_t>& args, float* out) {
  weighted_sum(args, out);
}

void RILL_TIER(softmax_tile)(size_t num_queries, size_t begin, size_t end, float scale,
                             float* scores, float* m, float* l) {
  const float lowest = -__builtin_inff();
  // Vectors that hold keys of the range; others would only add +0 to the sum.
  const size_t first = begin / 16;
  const size_t last = (end + 15) / 16;
  for (size_t i = 0; i < num_queries; ++i) {
    float* row = scores + i * kAttentionTile;
    // Keys outside the range: exp(-inf) is +0, which is what they count as.
    for (size_t j = first * 16; j < begin; ++j) row[j] = lowest;
    for (size_t j = end; j < last * 16; ++j) row[j] = lowest;
    Vec s[4];
    Vec largest = set1(lowest);
    RILL_UNROLL
    for (size_t n = 0; n < 4; ++n) {
      if (n < first || n >= last) continue;
      s[n] = mul(load(row + 16 * n), set1(scale));
      largest = max(s[n], largest);
    }
    m[i] = max_lane(largest);
    Vec sum = zero();
    RILL_UNROLL
    for (size_t n = 0; n < 4; ++n) {
      if (n < first || n >= last) continue;
      const Vec p = exp(sub(s[n], set1(m[i])));
      store(row + 16 * n, p);
      sum = add(sum, p);
    }
    l[i] = fold(sum);
  }
}

void RILL_TIER(merge_tile)(const AttentionMerge& args, float* m, float* l, float* out) {
  for (size_t first = 0; first < args.num_queries; first += 8) {
    const size_t queries = args.num_queries - first < 8 ? args.num_queries - first : 8;
    float factors[16] = {};  // of the running result, then from 8 on of the tile
    for (size_t i = 0; i < queries; ++i) {
      const float tile_m = args.tile_m[first + i];
      const float largest = tile_m > m[first + i] ? tile_m : m[first + i];
      factors[i] = m[first + i] - largest;
      factors[8 + i] = tile_m - largest;
      m[first + i] = largest;
    }
    store(factors, exp(load(factors)));
    for (size_t i = 0; i < queries; ++i) {
      l[first + i] = l[first + i] * factors[i] + args.tile_l[first + i] * factors[8 + i];
      merge_values(args.tile_o + (first + i) * args.head_dim, factors[8 + i], factors[i],
                   args.head_dim, out + (first + i) * args.out_stride);
    }
  }
}

void RILL_TIER(divide)(const float* x, float divisor, size_t size, float* out) {
  const Vec d = set1(divisor);
  size_t i = 0;
  for (; i + 16 <= size; i += 16) store(out + i, div(load(x + i), d));
  if (i < size) store_first(out + i, div(load_first(x + i, size - i), d), size - i);
}

void RILL_TIER(f32_to_f16)(const float* x, size_t size, uint16_t* out) {
  size_t i = 0;
  for (; i + 16 <= size; i += 16) store_half(out + i, load(x + i));
  if (i < size) store_half_first(out + i, load_first(x + i, size - i), size - i);
}

void RILL_TIER(f16_to_f32)(const uint16_t* x, size_t size, float* out) {
  size_t i = 0;
  for (; i + 16 <= size; i += 16) store(out + i, load(x + i));
  if (i < size) store_first(out + i, load_first(x + i, size - i), size - i);
}

}  // namespace rill::kernels
