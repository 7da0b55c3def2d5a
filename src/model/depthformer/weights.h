// SPDX-License-Identifier: Apache-2.0
// Weights of the depthformer: one line per tensor, with shape and stored name.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/depthformer/config.h"
#include "model/weights/weight_reader.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"

namespace rill::model::depthformer {

// "L." stands for "depthformer.layers.{i}.", "A." for "L.operator.attention.".
struct LayerWeights {
  Tensor operator_norm;          // [D]             L.operator_norm.weight
  quant::PackedMatrix qkv_proj;  // [(H + 2G)d, D]  L.operator.qkv_proj.weight: rows of q, k, v
  Tensor q_layernorm;            // [d]             A.q_layernorm.weight
  Tensor k_layernorm;            // [d]             A.k_layernorm.weight
  quant::PackedMatrix out_proj;  // [D, D]          L.operator.out_proj.weight
  Tensor ffn_norm;               // [D]             L.ffn_norm.weight
  quant::PackedMatrix w1;        // [I, D]          L.feed_forward.w1.weight (the gate)
  quant::PackedMatrix w3;        // [I, D]          L.feed_forward.w3.weight
  quant::PackedMatrix w2;        // [D, I]          L.feed_forward.w2.weight
};

// "E." stands for "depth_embeddings.{i}.".
struct CodebookWeights {
  quant::PackedMatrix embedding;  // [V, D]  E.embedding.weight; single rows are read
  Tensor embedding_norm;          // [D]     E.embedding_norm.weight
  quant::PackedMatrix to_logits;  // [V, D]  E.to_logits.weight
};

struct Weights {
  quant::PackedMatrix depth_linear;  // [Q*D, backbone]  depth_linear.weight
  Tensor depth_linear_bias;          // [Q*D]            depth_linear.bias
  std::vector<LayerWeights> layers;
  std::vector<CodebookWeights> codebooks;  // Q
};

/// Errors: kNotFound, kInvalidFormat, kUnsupported, kOutOfMemory; file and tensor are named.
Result<Weights> load_weights(const WeightReader& reader, const Config& config);

}  // namespace rill::model::depthformer
