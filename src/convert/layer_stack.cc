// SPDX-License-Identifier: Apache-2.0
#include "convert/layer_stack.h"

#include <utility>

#include "base/str_cat.h"

namespace rill::convert {
namespace {

using format::Metadata;
using model::lfm2::Config;

uint32_t u32(size_t value) { return static_cast<uint32_t>(value); }

/// Writes "<architecture>.<name>".
struct KeyWriter {
  Metadata& metadata;
  std::string architecture;

  void size(std::string_view name, size_t value) const {
    metadata.set(cat(architecture, ".", name), format::metadata_u32(u32(value)));
  }
  void number(std::string_view name, double value) const {
    metadata.set(cat(architecture, ".", name), format::metadata_f32(static_cast<float>(value)));
  }
};

std::vector<int32_t> kv_heads_of_layers(const Config& config) {
  std::vector<int32_t> counts;
  for (size_t i = 0; i < config.num_layers; ++i) {
    counts.push_back(config.is_attention(i) ? static_cast<int32_t>(config.num_kv_heads) : 0);
  }
  return counts;
}

/// norm and scale are only written where they differ from what readers take without them.
void add_expert_keys(const Config& config, const KeyWriter& keys) {
  constexpr size_t kSigmoid = 2;
  keys.size("expert_count", config.num_experts);
  keys.size("expert_used_count", config.num_experts_per_tok);
  keys.size("expert_feed_forward_length", config.moe_intermediate_size);
  keys.size("leading_dense_block_count", config.num_dense_layers);
  keys.size("expert_gating_func", kSigmoid);
  if (!config.norm_topk_prob) {
    keys.metadata.set(cat(keys.architecture, ".expert_weights_norm"), format::metadata_bool(false));
  }
  if (config.routed_scaling_factor != 1.0f) {
    keys.number("expert_weights_scale", config.routed_scaling_factor);
  }
}

/// Adds tensors of one stack; names are those of model/lfm2/weights.h.
class StackWriter {
 public:
  StackWriter(const Config& config, const std::string& prefix, DType matrix, SourceTensors& source,
              std::vector<OutputTensor>& tensors)
      : config_(config), prefix_(prefix), matrix_(matrix), source_(source), tensors_(tensors) {}

  Status add_tables() {
    const Shape table = {config_.vocab_size, config_.hidden_size};
    RILL_RETURN_IF_ERROR(
        add("token_embd.weight", prefix_ + "embed_tokens.weight", table, matrix_, ""));
    if (!config_.tie_embedding) {
      RILL_RETURN_IF_ERROR(add("output.weight", "lm_head.weight", table, matrix_, ""));
    }
    return add("token_embd_norm.weight", prefix_ + "embedding_norm.weight", {config_.hidden_size},
               DType::kF32, kVectorNote);
  }

  Status add_layer(size_t i) {
    layer_ = i;
    const size_t D = config_.hidden_size;
    RILL_RETURN_IF_ERROR(vector("attn_norm.weight", "operator_norm.weight", D));
    RILL_RETURN_IF_ERROR(vector("ffn_norm.weight", "ffn_norm.weight", D));
    RILL_RETURN_IF_ERROR(config_.is_attention(i) ? add_attention() : add_conv());
    return config_.is_sparse(i) ? add_sparse() : add_feed_forward();
  }

 private:
  Status add(std::string gguf, const std::string& name, const Shape& shape, DType dtype,
             const char* note) {
    RILL_ASSIGN_OR_RETURN(const TensorView view, source_.take(name, shape));
    tensors_.push_back({std::move(gguf), shape, dtype, {view}, {}, dtype == matrix_ ? "" : note});
    return {};
  }
  [[nodiscard]] std::string gguf_name(std::string_view name) const {
    return cat("blk.", layer_, ".", name);
  }
  [[nodiscard]] std::string source_name(std::string_view name) const {
    return cat(prefix_, "layers.", layer_, ".", name);
  }
  Status matrix(std::string_view gguf, std::string_view name, const Shape& shape) {
    return add(gguf_name(gguf), source_name(name), shape, matrix_, "");
  }
  Status vector(std::string_view gguf, std::string_view name, size_t size) {
    return add(gguf_name(gguf), source_name(name), {size}, DType::kF32, kVectorNote);
  }

  Status add_conv() {
    const size_t D = config_.hidden_size;
    RILL_RETURN_IF_ERROR(matrix("shortconv.in_proj.weight", "conv.in_proj.weight", {3 * D, D}));
    RILL_RETURN_IF_ERROR(add(gguf_name("shortconv.conv.weight"), source_name("conv.conv.weight"),
                             {D, config_.conv_L_cache}, DType::kF32, kConvNote));
    RILL_RETURN_IF_ERROR(matrix("shortconv.out_proj.weight", "conv.out_proj.weight", {D, D}));
    if (!config_.conv_bias) return {};
    RILL_RETURN_IF_ERROR(vector("shortconv.in_proj.bias", "conv.in_proj.bias", 3 * D));
    RILL_RETURN_IF_ERROR(vector("shortconv.conv.bias", "conv.conv.bias", D));
    return vector("shortconv.out_proj.bias", "conv.out_proj.bias", D);
  }

  Status add_attention() {
    const size_t D = config_.hidden_size;
    const size_t d = config_.head_dim;
    const size_t Hd = config_.num_heads * d;
    const size_t Gd = config_.num_kv_heads * d;
    RILL_RETURN_IF_ERROR(matrix("attn_q.weight", "self_attn.q_proj.weight", {Hd, D}));
    RILL_RETURN_IF_ERROR(matrix("attn_k.weight", "self_attn.k_proj.weight", {Gd, D}));
    RILL_RETURN_IF_ERROR(matrix("attn_v.weight", "self_attn.v_proj.weight", {Gd, D}));
    RILL_RETURN_IF_ERROR(matrix("attn_output.weight", "self_attn.out_proj.weight", {D, Hd}));
    RILL_RETURN_IF_ERROR(vector("attn_q_norm.weight", "self_attn.q_layernorm.weight", d));
    return vector("attn_k_norm.weight", "self_attn.k_layernorm.weight", d);
  }

  Status add_feed_forward() {
    const size_t D = config_.hidden_size;
    const size_t I = config_.intermediate_size;
    RILL_RETURN_IF_ERROR(matrix("ffn_gate.weight", "feed_forward.w1.weight", {I, D}));
    RILL_RETURN_IF_ERROR(matrix("ffn_up.weight", "feed_forward.w3.weight", {I, D}));
    return matrix("ffn_down.weight", "feed_forward.w2.weight", {D, I});
  }

  /// Stacks one matrix of every expert: [E, rows, cols].
  Status add_experts(std::string_view gguf, std::string_view name, size_t rows, size_t cols) {
    const size_t E = config_.num_experts;
    OutputTensor stack;
    stack.name = gguf_name(gguf);
    stack.shape = {E, rows, cols};
    stack.dtype = matrix_;
    for (size_t e = 0; e < E; ++e) {
      RILL_ASSIGN_OR_RETURN(
          const TensorView view,
          source_.take(source_name(cat("feed_forward.experts.", e, ".", name, ".weight")),
                       {rows, cols}));
      stack.parts.push_back(view);
    }
    tensors_.push_back(std::move(stack));
    return {};
  }

  Status add_sparse() {
    const size_t E = config_.num_experts;
    const size_t D = config_.hidden_size;
    const size_t I = config_.moe_intermediate_size;
    RILL_RETURN_IF_ERROR(add(gguf_name("ffn_gate_inp.weight"),
                             source_name("feed_forward.gate.weight"), {E, D}, DType::kF32,
                             kRouterNote));
    if (config_.use_expert_bias) {
      RILL_RETURN_IF_ERROR(vector("exp_probs_b.bias", "feed_forward.expert_bias", E));
    } else {
      add_zero_bias(E);
    }
    RILL_RETURN_IF_ERROR(add_experts("ffn_gate_exps.weight", "w1", I, D));
    RILL_RETURN_IF_ERROR(add_experts("ffn_up_exps.weight", "w3", I, D));
    return add_experts("ffn_down_exps.weight", "w2", D, I);
  }

  /// Other programs ask for the bias that steers the choice of experts; zeros steer nothing.
  void add_zero_bias(size_t num_experts) {
    OutputTensor bias;
    bias.name = gguf_name("exp_probs_b.bias");
    bias.shape = {num_experts};
    bias.values.assign(num_experts, 0.0f);
    bias.note = "zeros: the checkpoint has no bias, and other programs need one";
    tensors_.push_back(std::move(bias));
  }

  const Config& config_;
  const std::string& prefix_;
  DType matrix_;
  SourceTensors& source_;
  std::vector<OutputTensor>& tensors_;
  size_t layer_ = 0;
};

}  // namespace

void add_stack_keys(const Config& config, Metadata& metadata) {
  const bool sparse = config.num_experts > 0;
  const KeyWriter keys{metadata, sparse ? "lfm2moe" : "lfm2"};
  metadata.set("general.architecture", format::metadata_string(keys.architecture));
  keys.size("block_count", config.num_layers);
  keys.size("context_length", config.context_length);
  keys.size("embedding_length", config.hidden_size);
  keys.size("feed_forward_length", config.intermediate_size);
  keys.size("attention.head_count", config.num_heads);
  metadata.set(cat(keys.architecture, ".attention.head_count_kv"),
               format::metadata_i32s(kv_heads_of_layers(config)));
  if (config.head_dim * config.num_heads != config.hidden_size) {
    keys.size("attention.key_length", config.head_dim);
    keys.size("attention.value_length", config.head_dim);
  }
  keys.number("rope.freq_base", config.rope_theta);
  keys.number("attention.layer_norm_rms_epsilon", config.norm_eps);
  keys.size("vocab_size", config.vocab_size);
  keys.size("shortconv.l_cache", config.conv_L_cache);
  if (config.sliding_window > 0) keys.size("attention.sliding_window", config.sliding_window);
  if (config.embedding_length_out > 0)
    keys.size("embedding_length_out", config.embedding_length_out);
  if (sparse) add_expert_keys(config, keys);
}

Status add_stack_tensors(const Config& config, const std::string& prefix, DType matrix,
                         SourceTensors& source, std::vector<OutputTensor>& tensors) {
  StackWriter writer(config, prefix, matrix, source, tensors);
  RILL_RETURN_IF_ERROR(writer.add_tables());
  for (size_t i = 0; i < config.num_layers; ++i) RILL_RETURN_IF_ERROR(writer.add_layer(i));
  return {};
}

}  // namespace rill::convert
