// SPDX-License-Identifier: Apache-2.0
// Config: the sizes and switches of an LFM2 model, read from GGUF metadata or from a Transformers
// config.json. Whatever would change the arithmetic and is not known here is refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "format/gguf.h"

namespace rill::model::lfm2 {

enum class LayerKind : uint8_t {
  kConv,       ///< gated short convolution
  kAttention,  ///< grouped-query attention, over all positions or over sliding_window of them
};

/// What the layer stack is for.
enum class Role {
  kGenerator,    ///< text model or backbone of a speech model: embeds tokens, gives logits
  kDetokenizer,  ///< the stack inside the audio detokenizer: rows in, hidden states out
};

/// Sizes and switches. Names are those of the reference configuration.
struct Config {
  std::string source;  ///< file that it came from, for messages

  size_t num_layers = 0;
  size_t hidden_size = 0;   ///< D
  size_t num_heads = 0;     ///< H
  size_t num_kv_heads = 0;  ///< G, the same in every attention layer; 0 without attention layers
  size_t head_dim = 0;      ///< d
  size_t intermediate_size = 0;  ///< I, width of the dense feed-forward after every adjustment
  /// Widths that other readings of the same configuration give (converters differ); the tensors
  /// decide.
  std::vector<size_t> other_intermediate_sizes;
  size_t vocab_size = 0;      ///< V
  size_t context_length = 0;  ///< positions that the model was made for
  size_t conv_L_cache = 0;    ///< L, kernel length of the short convolution
  bool conv_bias = false;     ///< in_proj, conv and out_proj have biases
  bool tie_embedding = true;  ///< logits come from the embedding table
  float norm_eps = 0;
  double rope_theta = 0;
  size_t sliding_window = 0;  ///< keys that an attention layer sees; 0: all
  std::vector<LayerKind> layer_types;

  // Sparse feed-forward (lfm2moe); num_experts = 0 for dense models.
  size_t num_experts = 0;            ///< E
  size_t num_experts_per_tok = 0;    ///< k
  size_t moe_intermediate_size = 0;  ///< width of one expert
  size_t num_dense_layers = 0;       ///< the first layers keep a dense feed-forward
  bool use_expert_bias = false;
  bool norm_topk_prob = true;
  float routed_scaling_factor = 1.0f;

  size_t embedding_length_out = 0;  ///< outputs of the detokenizer's last projection; 0: none

  [[nodiscard]] bool is_attention(size_t layer) const {
    return layer_types[layer] == LayerKind::kAttention;
  }
  [[nodiscard]] bool is_sparse(size_t layer) const {
    return num_experts > 0 && layer >= num_dense_layers;
  }
  [[nodiscard]] size_t num_attention_layers() const;
  [[nodiscard]] size_t num_conv_layers() const { return num_layers - num_attention_layers(); }
};

/// Reads the metadata of a GGUF file (general.architecture lfm2 or lfm2moe).
/// Errors: kUnsupported (another architecture, an audio part given as a text model, a pooled or
/// non-causal variant, an
///         operator switch that this build does not know), kInvalidFormat, kNotFound; file and key
///         are named.
Result<Config> config_from_gguf(const format::GgufFile& file, Role role = Role::kGenerator);

/// Reads a Transformers configuration object (model_type lfm2 or lfm2_moe, or none in an audio
/// checkpoint's "lfm"). `name` stands for the file in messages. Errors: as above. Source:
/// transformers configuration_lfm2.py, configuration_lfm2_moe.py.
Result<Config> config_from_json(const Json& json, const std::string& name,
                                Role role = Role::kGenerator);

/// Checks that sizes are positive, bounded and consistent; both readers call it.
/// Errors: kInvalidFormat, with the value's name.
Status validate_config(const Config& config);

}  // namespace rill::model::lfm2
