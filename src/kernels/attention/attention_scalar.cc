// SPDX-License-Identifier: Apache-2.0
// The definition of the attention kernels.
#include "kernels/attention/attention.h"
#include "kernels/attention/half_scalar.h"
#include "kernels/attention/key_order.h"
#include "kernels/elementwise/functions_scalar.h"
#include "kernels/lanes_scalar.h"

namespace rill::kernels {
namespace {

inline float widen(float value) { return value; }
inline float widen(uint16_t half) { return float_from_half(half); }

/// The dot product of a query and a key, whose elements key(c) gives.
template <typename Key>
float dot(const float* q, size_t head_dim, Key key) {
  Lanes lanes;
  lanes.accumulate(head_dim,
                   [&](float sum, size_t c) { return __builtin_fmaf(q[c], key(c), sum); });
  return lanes.fold();
}

template <typename Element>
void dot_keys(const AttentionKeyDots<Element>& args, float* scores) {
  const KeyOrder order(args.head_dim);
  for (size_t i = 0; i < args.num_queries; ++i) {
    for (size_t j = 0; j < args.num_groups * kKeyGroup; ++j) {
      const Element* k = args.k + j / kKeyGroup * args.head_dim * kKeyGroup + j % kKeyGroup;
      scores[i * kAttentionTile + j] =
          dot(args.q + i * args.q_stride, args.head_dim,
              [&](size_t c) { return widen(k[order(c) * kKeyGroup]); });
    }
  }
}

template <typename Element>
void weighted_sum(const AttentionSums<Element>& args, float* out) {
  for (size_t i = 0; i < args.num_queries; ++i) {
    float* o = out + i * args.head_dim;
    for (size_t c = 0; c < args.head_dim; ++c) o[c] = 0.0f;
    for (size_t j = 0; j < args.count; ++j) {
      const float p = args.p[i * kAttentionTile + j];
      const Element* v = args.v + j * args.v_stride;
      for (size_t c = 0; c < args.head_dim; ++c) o[c] = __builtin_fmaf(p, widen(v[c]), o[c]);
    }
  }
}

}  // namespace

void dot_rows_f32_scalar(const AttentionDots& args, float* scores) {
  for (size_t i = 0; i < args.num_queries; ++i) {
    for (size_t j = 0; j < args.count; ++j) {
      const float* k = args.k + j * args.k_stride;
      scores[i * kAttentionTile + j] =
          dot(args.q + i * args.q_stride, args.head_dim, [k](size_t c) { return k[c]; });
    }
  }
}
void dot_keys_f32_scalar(const AttentionKeyDots<float>& args, float* scores) {
  dot_keys(args, scores);
}
void dot_keys_f16_scalar(const AttentionKeyDots<uint16_t>& args, float* scores) {
  dot_keys(args, scores);
}

void weighted_sum_f32_scalar(const AttentionSums<float>& args, float* out) {
  weighted_sum(args, out);
}
void weighted_sum_f16_scalar(const AttentionSums<uint16_t>& args, float* out) {
  weighted_sum(args, out);
}

void softmax_tile_scalar(size_t num_queries, size_t begin, size_t end, float scale, float* scores,
                         float* m, float* l) {
  for (size_t i = 0; i < num_queries; ++i) {
    float* row = scores + i * kAttentionTile;
    float max = -__builtin_inff();
    for (size_t j = begin; j < end; ++j) {
      row[j] = row[j] * scale;
      max = row[j] > max ? row[j] : max;
    }
    for (size_t j = 0; j < kAttentionTile; ++j) {
      row[j] = j >= begin && j < end ? exp_f32(row[j] - max) : 0.0f;
    }
    Lanes sums;
    sums.accumulate(kAttentionTile, [row](float sum, size_t j) { return sum + row[j]; });
    m[i] = max;
    l[i] = sums.fold();
  }
}

void merge_tile_scalar(const AttentionMerge& args, float* m, float* l, float* out) {
  for (size_t i = 0; i < args.num_queries; ++i) {
    const float max = args.tile_m[i] > m[i] ? args.tile_m[i] : m[i];
    const float a = exp_f32(m[i] - max);
    const float b = exp_f32(args.tile_m[i] - max);
    m[i] = max;
    l[i] = l[i] * a + args.tile_l[i] * b;
    float* o = out + i * args.out_stride;
    const float* tile_o = args.tile_o + i * args.head_dim;
    for (size_t c = 0; c < args.head_dim; ++c) o[c] = o[c] * a + tile_o[c] * b;
  }
}

void divide_scalar(const float* x, float divisor, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = x[i] / divisor;
}

void f32_to_f16_scalar(const float* x, size_t size, uint16_t* out) {
  for (size_t i = 0; i < size; ++i) out[i] = half_from_float(x[i]);
}

void f16_to_f32_scalar(const uint16_t* x, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = float_from_half(x[i]);
}

}  // namespace rill::kernels
