// SPDX-License-Identifier: Apache-2.0
#include "model/depthformer/weights.h"

#include <string>

#include "base/str_cat.h"

namespace rill::model::depthformer {
namespace {

Status load_layer(const WeightReader& reader, size_t index, const Config& config,
                  LayerWeights& out) {
  const std::string prefix = cat("depthformer.layers.", index, ".");
  const size_t d = config.hidden_size;
  const size_t inner = config.intermediate_size;
  const size_t qkv_rows = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim;
  const std::string attention = prefix + "operator.attention.";
  RILL_ASSIGN_OR_RETURN(out.operator_norm, reader.values(prefix + "operator_norm.weight", {d}));
  RILL_ASSIGN_OR_RETURN(out.qkv_proj,
                        reader.matrix(prefix + "operator.qkv_proj.weight", {qkv_rows, d}));
  RILL_ASSIGN_OR_RETURN(out.q_layernorm,
                        reader.values(attention + "q_layernorm.weight", {config.head_dim}));
  RILL_ASSIGN_OR_RETURN(out.k_layernorm,
                        reader.values(attention + "k_layernorm.weight", {config.head_dim}));
  RILL_ASSIGN_OR_RETURN(out.out_proj, reader.matrix(prefix + "operator.out_proj.weight", {d, d}));
  RILL_ASSIGN_OR_RETURN(out.ffn_norm, reader.values(prefix + "ffn_norm.weight", {d}));
  RILL_ASSIGN_OR_RETURN(out.w1, reader.matrix(prefix + "feed_forward.w1.weight", {inner, d}));
  RILL_ASSIGN_OR_RETURN(out.w3, reader.matrix(prefix + "feed_forward.w3.weight", {inner, d}));
  RILL_ASSIGN_OR_RETURN(out.w2, reader.matrix(prefix + "feed_forward.w2.weight", {d, inner}));
  return {};
}

Status load_codebook(const WeightReader& reader, size_t index, const Config& config,
                     CodebookWeights& out) {
  const std::string prefix = cat("depth_embeddings.", index, ".");
  const size_t d = config.hidden_size;
  const Shape table = {config.audio_vocab_size, d};
  RILL_ASSIGN_OR_RETURN(out.embedding, reader.lookup(prefix + "embedding.weight", table));
  RILL_ASSIGN_OR_RETURN(out.embedding_norm, reader.values(prefix + "embedding_norm.weight", {d}));
  RILL_ASSIGN_OR_RETURN(out.to_logits, reader.matrix(prefix + "to_logits.weight", table));
  return {};
}

}  // namespace

Result<Weights> load_weights(const WeightReader& reader, const Config& config) {
  Weights weights;
  const size_t slices = config.num_codebooks * config.hidden_size;
  RILL_ASSIGN_OR_RETURN(weights.depth_linear,
                        reader.matrix("depth_linear.weight", {slices, config.backbone_size}));
  RILL_ASSIGN_OR_RETURN(weights.depth_linear_bias, reader.values("depth_linear.bias", {slices}));
  weights.layers.resize(config.num_layers);
  for (size_t i = 0; i < config.num_layers; ++i) {
    RILL_RETURN_IF_ERROR(load_layer(reader, i, config, weights.layers[i]));
  }
  weights.codebooks.resize(config.num_codebooks);
  for (size_t i = 0; i < config.num_codebooks; ++i) {
    RILL_RETURN_IF_ERROR(load_codebook(reader, i, config, weights.codebooks[i]));
  }
  return weights;
}

}  // namespace rill::model::depthformer
