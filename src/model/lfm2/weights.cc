// SPDX-License-Identifier: Apache-2.0
// Binds the tensors of the structs in weights.h, one line each.
#include "model/lfm2/weights.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/str_cat.h"
#include "model/lfm2/binder.h"

namespace rill::model::lfm2 {
namespace {

using Bytes = size_t (PackedMatrix::*)() const;

size_t bytes_of(const FeedForwardWeights& ffn, Bytes bytes) {
  return (ffn.w1.*bytes)() + (ffn.w3.*bytes)() + (ffn.w2.*bytes)();
}

/// Of a layer with at most `experts` of its experts.
size_t bytes_of(const LayerWeights& layer, Bytes bytes, size_t experts) {
  size_t total = (layer.operator_norm.size() + layer.ffn_norm.size()) * sizeof(float);
  if (layer.conv) {
    total += (layer.conv->in_proj.*bytes)() + (layer.conv->out_proj.*bytes)() +
             layer.conv->conv.size() * sizeof(float);
  }
  if (layer.attention) {
    const AttentionWeights& w = *layer.attention;
    for (const PackedMatrix* matrix : {&w.q_proj, &w.k_proj, &w.v_proj, &w.out_proj})
      total += (matrix->*bytes)();
  }
  if (layer.feed_forward) total += bytes_of(*layer.feed_forward, bytes);
  if (layer.sparse) {
    total += (layer.sparse->gate.*bytes)();
    const std::span<const FeedForwardWeights> all = layer.sparse->experts;
    for (const FeedForwardWeights& expert : all.first(std::min(experts, all.size())))
      total += bytes_of(expert, bytes);
  }
  return total;
}

/// [rows, cols] as [cols, rows].
FloatVector transposed(const FloatVector& values, size_t rows, size_t cols) {
  FloatVector out(values.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c) out[c * rows + r] = values[r * cols + c];
  }
  return out;
}

Result<ConvWeights> bind_conv(Binder& in, const Config& config, size_t i) {
  const size_t D = config.hidden_size;
  const size_t L = config.conv_L_cache;
  const auto name = [&](std::string_view gguf, std::string_view transformers) {
    return in.layer_name(i, gguf, transformers);
  };
  ConvWeights w;
  RILL_ASSIGN_OR_RETURN(
      w.in_proj, in.matrix(name("shortconv.in_proj.weight", "conv.in_proj.weight"), {3 * D, D}));
  RILL_ASSIGN_OR_RETURN(const FloatVector conv,
                        in.values(name("shortconv.conv.weight", "conv.conv.weight"), {D, L}));
  w.conv = transposed(conv, D, L);
  RILL_ASSIGN_OR_RETURN(
      w.out_proj, in.matrix(name("shortconv.out_proj.weight", "conv.out_proj.weight"), {D, D}));
  if (!config.conv_bias) return w;
  RILL_ASSIGN_OR_RETURN(w.in_proj_bias,
                        in.values(name("shortconv.in_proj.bias", "conv.in_proj.bias"), {3 * D}));
  RILL_ASSIGN_OR_RETURN(w.conv_bias, in.values(name("shortconv.conv.bias", "conv.conv.bias"), {D}));
  RILL_ASSIGN_OR_RETURN(w.out_proj_bias,
                        in.values(name("shortconv.out_proj.bias", "conv.out_proj.bias"), {D}));
  return w;
}

Result<AttentionWeights> bind_attention(Binder& in, const Config& config, size_t i) {
  const size_t D = config.hidden_size;
  const size_t d = config.head_dim;
  const size_t Hd = config.num_heads * d;
  const size_t Gd = config.num_kv_heads * d;
  const auto name = [&](std::string_view gguf, std::string_view transformers) {
    return in.layer_name(i, gguf, transformers);
  };
  AttentionWeights w;
  RILL_ASSIGN_OR_RETURN(w.q_proj,
                        in.matrix(name("attn_q.weight", "self_attn.q_proj.weight"), {Hd, D}));
  RILL_ASSIGN_OR_RETURN(w.k_proj,
                        in.matrix(name("attn_k.weight", "self_attn.k_proj.weight"), {Gd, D}));
  RILL_ASSIGN_OR_RETURN(w.v_proj,
                        in.matrix(name("attn_v.weight", "self_attn.v_proj.weight"), {Gd, D}));
  RILL_ASSIGN_OR_RETURN(
      w.out_proj, in.matrix(name("attn_output.weight", "self_attn.out_proj.weight"), {D, Hd}));
  RILL_ASSIGN_OR_RETURN(w.q_layernorm,
                        in.values(name("attn_q_norm.weight", "self_attn.q_layernorm.weight"), {d}));
  RILL_ASSIGN_OR_RETURN(w.k_layernorm,
                        in.values(name("attn_k_norm.weight", "self_attn.k_layernorm.weight"), {d}));
  return w;
}

Result<FeedForwardWeights> bind_feed_forward(Binder& in, const Config& config, size_t i) {
  const size_t D = config.hidden_size;
  const size_t I = config.intermediate_size;
  const auto name = [&](std::string_view gguf, std::string_view transformers) {
    return in.layer_name(i, gguf, transformers);
  };
  FeedForwardWeights w;
  RILL_ASSIGN_OR_RETURN(w.w1, in.matrix(name("ffn_gate.weight", "feed_forward.w1.weight"), {I, D}));
  RILL_ASSIGN_OR_RETURN(w.w3, in.matrix(name("ffn_up.weight", "feed_forward.w3.weight"), {I, D}));
  RILL_ASSIGN_OR_RETURN(w.w2, in.matrix(name("ffn_down.weight", "feed_forward.w2.weight"), {D, I}));
  return w;
}

/// Experts under their own names, as Transformers keeps them.
Result<std::vector<FeedForwardWeights>> bind_single_experts(Binder& in, const Config& config,
                                                            size_t i) {
  const size_t D = config.hidden_size;
  const size_t I = config.moe_intermediate_size;
  std::vector<FeedForwardWeights> experts(config.num_experts);
  for (size_t e = 0; e < config.num_experts; ++e) {
    const auto name = [&](std::string_view matrix) {
      return in.layer_name(i, "", cat("feed_forward.experts.", e, ".", matrix, ".weight"));
    };
    RILL_ASSIGN_OR_RETURN(experts[e].w1, in.matrix(name("w1"), {I, D}));
    RILL_ASSIGN_OR_RETURN(experts[e].w3, in.matrix(name("w3"), {I, D}));
    RILL_ASSIGN_OR_RETURN(experts[e].w2, in.matrix(name("w2"), {D, I}));
  }
  return experts;
}

/// One stacked tensor [E, rows, cols], of which each expert takes `count` rows from `first` on.
Status bind_stacked(Binder& in, const std::string& name, const Shape& shape, size_t first,
                    size_t count, PackedMatrix FeedForwardWeights::*member,
                    std::vector<FeedForwardWeights>& experts) {
  RILL_ASSIGN_OR_RETURN(TensorView stack, in.view(name, shape));
  stack.shape = shape;
  for (size_t e = 0; e < experts.size(); ++e) {
    const TensorView rows = row_slice(stack, e * shape.dim(1) + first, count);
    RILL_ASSIGN_OR_RETURN(experts[e].*member, in.matrix_of(name, rows));
  }
  return {};
}

/// Experts stacked as GGUF keeps them, with gate and up apart or fused (gate first).
Result<std::vector<FeedForwardWeights>> bind_stacked_experts(Binder& in, const Config& config,
                                                             size_t i) {
  using Ffn = FeedForwardWeights;
  const size_t E = config.num_experts;
  const size_t D = config.hidden_size;
  const size_t I = config.moe_intermediate_size;
  std::vector<FeedForwardWeights> experts(E);
  const std::string fused = in.layer_name(i, "ffn_gate_up_exps.weight", "");
  const std::string gate = in.layer_name(i, "ffn_gate_exps.weight", "");
  const std::string up = in.layer_name(i, "ffn_up_exps.weight", "");
  const std::string down = in.layer_name(i, "ffn_down_exps.weight", "");
  if (in.has(fused)) {
    RILL_RETURN_IF_ERROR(bind_stacked(in, fused, {E, 2 * I, D}, 0, I, &Ffn::w1, experts));
    RILL_RETURN_IF_ERROR(bind_stacked(in, fused, {E, 2 * I, D}, I, I, &Ffn::w3, experts));
    in.release(fused);
  } else {
    RILL_RETURN_IF_ERROR(bind_stacked(in, gate, {E, I, D}, 0, I, &Ffn::w1, experts));
    in.release(gate);
    RILL_RETURN_IF_ERROR(bind_stacked(in, up, {E, I, D}, 0, I, &Ffn::w3, experts));
    in.release(up);
  }
  RILL_RETURN_IF_ERROR(bind_stacked(in, down, {E, D, I}, 0, D, &Ffn::w2, experts));
  in.release(down);
  return experts;
}

Result<SparseFeedForwardWeights> bind_sparse(Binder& in, const Config& config, NameScheme scheme,
                                             size_t i) {
  const size_t E = config.num_experts;
  const auto name = [&](std::string_view gguf, std::string_view transformers) {
    return in.layer_name(i, gguf, transformers);
  };
  SparseFeedForwardWeights w;
  RILL_ASSIGN_OR_RETURN(w.gate,
                        in.matrix_f32(name("ffn_gate_inp.weight", "feed_forward.gate.weight"),
                                      {E, config.hidden_size}));
  if (config.use_expert_bias) {
    RILL_ASSIGN_OR_RETURN(w.expert_bias,
                          in.values(name("exp_probs_b.bias", "feed_forward.expert_bias"), {E}));
  }
  RILL_ASSIGN_OR_RETURN(w.experts, scheme == NameScheme::kGguf
                                       ? bind_stacked_experts(in, config, i)
                                       : bind_single_experts(in, config, i));
  return w;
}

Result<LayerWeights> bind_layer(Binder& in, const Config& config, NameScheme scheme, size_t i) {
  const size_t D = config.hidden_size;
  LayerWeights layer;
  RILL_ASSIGN_OR_RETURN(
      layer.operator_norm,
      in.values(in.layer_name(i, "attn_norm.weight", "operator_norm.weight"), {D}));
  RILL_ASSIGN_OR_RETURN(layer.ffn_norm,
                        in.values(in.layer_name(i, "ffn_norm.weight", "ffn_norm.weight"), {D}));
  if (config.is_attention(i)) {
    RILL_ASSIGN_OR_RETURN(layer.attention, bind_attention(in, config, i));
  } else {
    RILL_ASSIGN_OR_RETURN(layer.conv, bind_conv(in, config, i));
  }
  if (config.is_sparse(i)) {
    RILL_ASSIGN_OR_RETURN(layer.sparse, bind_sparse(in, config, scheme, i));
  } else {
    RILL_ASSIGN_OR_RETURN(layer.feed_forward, bind_feed_forward(in, config, i));
  }
  return layer;
}

/// The final norm is called token_embd_norm in most GGUF files and output_norm in some.
Result<FloatVector> bind_final_norm(Binder& in, const WeightSource& source, const Config& config) {
  const std::string first = in.name("token_embd_norm.weight", "embedding_norm.weight");
  if (in.has(first) || source.scheme == NameScheme::kTransformers)
    return in.values(first, {config.hidden_size});
  if (in.has("output_norm.weight")) return in.values("output_norm.weight", {config.hidden_size});
  return Error{ErrorCode::kNotFound,
               cat("load weights: ", source.name,
                   ": no final norm: got neither token_embd_norm.weight nor output_norm.weight")};
}

Status bind_tables(Binder& in, const Config& config, Weights& weights) {
  const Shape shape = {config.vocab_size, config.hidden_size};
  RILL_ASSIGN_OR_RETURN(weights.embed_tokens,
                        in.matrix(in.name("token_embd.weight", "embed_tokens.weight"), shape));
  if (config.tie_embedding) return {};
  const bool gguf = in.has("output.weight");
  RILL_ASSIGN_OR_RETURN(weights.lm_head,
                        in.matrix(gguf ? "output.weight" : "lm_head.weight", shape));
  return {};
}

}  // namespace

size_t Weights::owned_bytes() const {
  size_t total =
      embed_tokens.owned_bytes() + lm_head.owned_bytes() + embedding_norm.size() * sizeof(float);
  for (const LayerWeights& layer : layers)
    total += bytes_of(layer, &PackedMatrix::owned_bytes, SIZE_MAX);
  return total;
}

size_t Weights::step_bytes(size_t experts_used) const {
  size_t total = embedding_norm.size() * sizeof(float);
  for (const LayerWeights& layer : layers)
    total += bytes_of(layer, &PackedMatrix::size_bytes, experts_used);
  return total;
}

size_t Weights::head_bytes() const {
  return lm_head.rows() > 0 ? lm_head.size_bytes() : embed_tokens.size_bytes();
}

Status resolve_intermediate_size(const WeightSource& source, Config& config) {
  if (config.is_sparse(0)) return {};
  const std::string name = source.scheme == NameScheme::kGguf
                               ? "blk.0.ffn_gate.weight"
                               : source.prefix + "layers.0.feed_forward.w1.weight";
  const NamedTensor* tensor = source.tensors->find(name);
  if (tensor == nullptr) return {};  // load_weights reports it
  const size_t width = tensor->view.shape.rows();
  if (width == config.intermediate_size) return {};
  const std::vector<size_t>& others = config.other_intermediate_sizes;
  if (std::find(others.begin(), others.end(), width) == others.end()) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load weights: ", source.name, ": ", name, ": got shape ",
                     tensor->view.shape.to_string(), ", expected ",
                     Shape{config.intermediate_size, config.hidden_size}.to_string(),
                     " (feed-forward width by the configuration)")};
  }
  config.intermediate_size = width;
  return {};
}

Result<Weights> load_weights(const WeightSource& source, const Config& config,
                             const LoadOptions& options, ThreadPool& pool) {
  Binder in(source, options, pool);
  Weights weights;
  if (options.role == Role::kGenerator) RILL_RETURN_IF_ERROR(bind_tables(in, config, weights));
  RILL_ASSIGN_OR_RETURN(weights.embedding_norm, bind_final_norm(in, source, config));
  for (size_t i = 0; i < config.num_layers; ++i) {
    RILL_ASSIGN_OR_RETURN(LayerWeights layer, bind_layer(in, config, source.scheme, i));
    weights.layers.push_back(std::move(layer));
  }
  RILL_RETURN_IF_ERROR(in.refuse_unused());
  return weights;
}

}  // namespace rill::model::lfm2
