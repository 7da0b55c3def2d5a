// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2/fingerprint.h"

#include <cstring>
#include <span>
#include <vector>

#include "base/sha256.h"

namespace rill::model::lfm2 {
namespace {

constexpr size_t kSampledRows = 4;
constexpr size_t kSampledValues = 256;

/// Feeds numbers and tensors to the hash.
class Collector {
 public:
  void number(uint64_t value) { hash_.update(std::as_bytes(std::span(&value, 1))); }
  void number(float value) { hash_.update(std::as_bytes(std::span(&value, 1))); }
  void number(double value) { hash_.update(std::as_bytes(std::span(&value, 1))); }
  void values(const FloatVector& values) {
    number(uint64_t{values.size()});
    hash_.update(std::as_bytes(std::span(values)));
  }
  void matrix(const PackedMatrix& matrix) {
    number(static_cast<uint64_t>(matrix.dtype()));
    number(uint64_t{matrix.rows()});
    number(uint64_t{matrix.cols()});
    if (matrix.rows() == 0) return;
    row_.resize(matrix.cols());
    const size_t stride = (matrix.cols() + kSampledValues - 1) / kSampledValues;
    for (size_t i = 0; i < kSampledRows; ++i) {
      matrix.read_row(i * (matrix.rows() - 1) / (kSampledRows - 1), row_);
      size_t count = 0;
      for (size_t c = 0; c < row_.size(); c += stride) row_[count++] = row_[c];
      hash_.update(std::as_bytes(std::span<const float>(row_).first(count)));
    }
  }
  void feed_forward(const FeedForwardWeights& w) {
    matrix(w.w1);
    matrix(w.w3);
    matrix(w.w2);
  }
  Fingerprint finish() { return hash_.finish(); }

 private:
  Sha256 hash_;
  FloatVector row_;
};

void add_config(const Config& config, Collector& out) {
  for (const size_t size :
       {config.num_layers, config.hidden_size, config.num_heads, config.num_kv_heads,
        config.head_dim, config.intermediate_size, config.vocab_size, config.conv_L_cache,
        config.sliding_window, config.num_experts, config.num_experts_per_tok,
        config.moe_intermediate_size, config.num_dense_layers, config.embedding_length_out}) {
    out.number(uint64_t{size});
  }
  for (const bool is_on :
       {config.conv_bias, config.tie_embedding, config.use_expert_bias, config.norm_topk_prob}) {
    out.number(uint64_t{is_on});
  }
  out.number(config.norm_eps);
  out.number(config.rope_theta);
  out.number(config.routed_scaling_factor);
  for (const LayerKind kind : config.layer_types) out.number(static_cast<uint64_t>(kind));
}

void add_layer(const LayerWeights& layer, Collector& out) {
  out.values(layer.operator_norm);
  out.values(layer.ffn_norm);
  if (layer.conv) {
    out.matrix(layer.conv->in_proj);
    out.values(layer.conv->in_proj_bias);
    out.values(layer.conv->conv);
    out.values(layer.conv->conv_bias);
    out.matrix(layer.conv->out_proj);
    out.values(layer.conv->out_proj_bias);
  }
  if (layer.attention) {
    out.matrix(layer.attention->q_proj);
    out.matrix(layer.attention->k_proj);
    out.matrix(layer.attention->v_proj);
    out.matrix(layer.attention->out_proj);
    out.values(layer.attention->q_layernorm);
    out.values(layer.attention->k_layernorm);
  }
  if (layer.feed_forward) out.feed_forward(*layer.feed_forward);
  if (!layer.sparse) return;
  out.matrix(layer.sparse->gate);
  out.values(layer.sparse->expert_bias);
  for (const FeedForwardWeights& expert : layer.sparse->experts) out.feed_forward(expert);
}

}  // namespace

Fingerprint fingerprint(const Config& config, const Weights& weights) {
  Collector out;
  add_config(config, out);
  out.matrix(weights.embed_tokens);
  out.matrix(weights.lm_head);
  out.values(weights.embedding_norm);
  for (const LayerWeights& layer : weights.layers) add_layer(layer, out);
  return out.finish();
}

}  // namespace rill::model::lfm2
