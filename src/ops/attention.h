// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention over a block-wise KV cache, in tiles of 64 positions
// (docs/numerics.md, rule 7).
#pragma once

#include <cstddef>

#include "base/result.h"
#include "ops/context.h"
#include "ops/kv_cache.h"
#include "tensor/tensor.h"

namespace rill::ops {

struct AttentionArgs {
  size_t num_heads = 0;       ///< H; query head h uses KV head h / (H / G)
  size_t first_position = 0;  ///< of q's first row
  size_t window = 0;          ///< query at p sees keys p - window + 1 .. p; 0: all keys 0 .. p
  float scale = 0;            ///< times q.k
};

/// out [T, H*d] = softmax(q k^T * scale) v, causal. scale > 0. Keys of q's own positions must be
/// stored already. Errors: kOutOfMemory (scratch).
Status attention(Context& context, ConstMat q, const KvView& kv, const AttentionArgs& args,
                 Mat out);

/// Full-context attention with relative positions of the conformer (Transformer-XL form).
/// score[i, j] = ((q_i + bias_u) . k_j + (q_i + bias_v) . p[T-1-(i-j)]) * scale: two dot products
/// over 16 lanes, their sum, then the scale. Keys are visited in the tiles of causal attention,
/// merged in ascending order. Shapes: q, k, v [T, H*d]; positions [2T-1, H*d]; bias_u, bias_v [H,
/// d]; out [T, H*d]. The [T, T] scores are never held whole: query blocks bound the scratch memory.
/// Errors: kOutOfMemory (scratch).
/// Source: liquid-audio conformer/mha.py, RelPositionMultiHeadAttention.
struct RelPosAttentionArgs {
  size_t num_heads = 0;
  float scale = 0;
  const float* bias_u = nullptr;
  const float* bias_v = nullptr;
};
Status rel_pos_attention(Context& context, ConstMat q, ConstMat k, ConstMat v, ConstMat positions,
                         const RelPosAttentionArgs& args, Mat out);

}  // namespace rill::ops
