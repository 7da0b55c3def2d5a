// SPDX-License-Identifier: Apache-2.0
// Config from a Transformers config.json, with the defaults of the reference class where a key is
// absent.
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/str_cat.h"
#include "model/lfm2/config.h"

namespace rill::model::lfm2 {
namespace {

/// Reads members of one object; null counts as absent, as in the reference.
struct JsonReader {
  const Json& json;
  const std::string& name;

  [[nodiscard]] const Json* find(std::string_view key) const {
    const Json* value = json.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] Error wrong(std::string_view key, std::string_view expected) const {
    const Json* value = find(key);
    const std::string got = value == nullptr ? "no such key" : printable(value->dump(), 60);
    return Error{value == nullptr ? ErrorCode::kNotFound : ErrorCode::kInvalidFormat,
                 cat("load config: ", name, ": ", key, ": got ", got, ", expected ", expected)};
  }
  Result<size_t> size(std::string_view key) const {
    const Json* value = find(key);
    constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
    if (value == nullptr || !value->is_int() || value->as_int() < 0 || value->as_int() > kMax) {
      return wrong(key, "an integer in [0, 2^32)");
    }
    return static_cast<size_t>(value->as_int());
  }
  Result<size_t> size_or(std::string_view key, size_t fallback) const {
    return has(key) ? size(key) : Result<size_t>(fallback);
  }
  Result<double> number_or(std::string_view key, double fallback) const {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_number()) return wrong(key, "a number");
    return value->as_double();
  }
  Result<bool> flag_or(std::string_view key, bool fallback) const {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_bool()) return wrong(key, "true or false");
    return value->as_bool();
  }
  Result<std::string> text_or(std::string_view key, std::string_view fallback) const {
    const Json* value = find(key);
    if (value == nullptr) return std::string(fallback);
    if (!value->is_string()) return wrong(key, "a string");
    return value->as_string();
  }
};

Error refuse(const JsonReader& in, const std::string& what) {
  return Error{ErrorCode::kUnsupported, cat("load config: ", in.name, ": ", what)};
}

/// Whether the model is sparse. Audio checkpoints leave the type of their backbone out.
Result<bool> read_model_type(const JsonReader& in) {
  RILL_ASSIGN_OR_RETURN(const std::string type, in.text_or("model_type", "lfm2"));
  if (type == "lfm2_moe") return true;
  if (type != "lfm2") {
    return refuse(in, cat("model_type: got \"", printable(type),
                          "\", this version of rill runs lfm2 and lfm2_moe"));
  }
  if (in.has("num_experts")) return refuse(in, "num_experts: unknown for model_type lfm2");
  return false;
}

Status refuse_unknown_operators(const JsonReader& in) {
  for (const std::string_view key : {"attention_bias", "mlp_bias", "use_sliding_window"}) {
    RILL_ASSIGN_OR_RETURN(const bool on, in.flag_or(key, false));
    if (on) return refuse(in, cat(key, ": got true, this build knows only false"));
  }
  if (in.has("rope_scaling")) return refuse(in, "rope_scaling: this build knows no rope scaling");
  RILL_ASSIGN_OR_RETURN(const std::string activation, in.text_or("hidden_act", "silu"));
  if (activation != "silu") {
    return refuse(in,
                  cat("hidden_act: got \"", printable(activation), "\", this build knows silu"));
  }
  return {};
}

/// The nested form is the newer one and wins.
Status read_rope(const JsonReader& in, Config& config) {
  constexpr double kDefaultTheta = 1000000.0;
  const std::string_view flat_key = in.has("rope_theta") ? "rope_theta" : "theta";
  RILL_ASSIGN_OR_RETURN(config.rope_theta, in.number_or(flat_key, kDefaultTheta));
  const Json* nested = in.find("rope_parameters");
  if (nested == nullptr) return {};
  if (!nested->is_object()) return in.wrong("rope_parameters", "an object");
  const std::string nested_name = in.name + ": rope_parameters";
  const JsonReader rope{*nested, nested_name};
  RILL_ASSIGN_OR_RETURN(const std::string type, rope.text_or("rope_type", "default"));
  if (type != "default") {
    return refuse(rope, cat("rope_type: got \"", printable(type), "\", this build knows default"));
  }
  RILL_ASSIGN_OR_RETURN(const double part, rope.number_or("partial_rotary_factor", 1.0));
  if (part != 1.0)
    return refuse(rope, cat("partial_rotary_factor: got ", part, ", this build knows 1"));
  RILL_ASSIGN_OR_RETURN(config.rope_theta, rope.number_or("rope_theta", config.rope_theta));
  return {};
}

Status read_layer_names(const JsonReader& in, const Json& list, Config& config) {
  bool full = false;
  bool sliding = false;
  if (!list.is_array()) return in.wrong("layer_types", "an array");
  for (const Json& item : list.items()) {
    const std::string kind = item.is_string() ? item.as_string() : item.dump();
    if (kind != "conv" && kind != "full_attention" && kind != "sliding_attention") {
      return refuse(in, cat("layer_types: got \"", printable(kind),
                            "\", this build knows conv, full_attention and sliding_attention"));
    }
    full = full || kind == "full_attention";
    sliding = sliding || kind == "sliding_attention";
    config.layer_types.push_back(kind == "conv" ? LayerKind::kConv : LayerKind::kAttention);
  }
  if (full && sliding) return refuse(in, "layer_types: both full_attention and sliding_attention");
  if (!sliding) {
    config.sliding_window = 0;  // the key alone changes nothing
  } else if (config.sliding_window == 0) {
    return in.wrong("sliding_window", "the number of keys that sliding_attention layers see");
  }
  return {};
}

Status read_attention_indices(const JsonReader& in, const Json& list, Config& config) {
  config.sliding_window = 0;
  config.layer_types.assign(config.num_layers, LayerKind::kConv);
  if (!list.is_array()) return in.wrong("full_attn_idxs", "an array");
  for (const Json& item : list.items()) {
    if (!item.is_int() || item.as_int() < 0 ||
        static_cast<uint64_t>(item.as_int()) >= config.num_layers) {
      return in.wrong("full_attn_idxs", cat("layer numbers below ", config.num_layers));
    }
    config.layer_types[static_cast<size_t>(item.as_int())] = LayerKind::kAttention;
  }
  return {};
}

Status read_layer_types(const JsonReader& in, Config& config) {
  RILL_ASSIGN_OR_RETURN(config.sliding_window, in.size_or("sliding_window", 0));
  if (const Json* names = in.find("layer_types")) return read_layer_names(in, *names, config);
  if (config.num_layers > 1024) return {};  // validate_config reports it
  if (const Json* indices = in.find("full_attn_idxs"))
    return read_attention_indices(in, *indices, config);
  config.sliding_window = 0;
  config.layer_types.assign(config.num_layers, LayerKind::kAttention);
  return {};
}

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Source: transformers modeling_lfm2, Lfm2MLP.__init__. Converters round up even without a
/// multiplier, and some checkpoints hold the width as it is; the tensors decide between these
/// readings.
Status read_intermediate_size(const JsonReader& in, bool sparse, Config& config) {
  const bool block_key = !sparse && in.has("block_ff_dim");
  RILL_ASSIGN_OR_RETURN(const size_t width,
                        in.size(block_key ? "block_ff_dim" : "intermediate_size"));
  RILL_ASSIGN_OR_RETURN(const bool adjust, in.flag_or("block_auto_adjust_ff_dim", true));
  config.intermediate_size = width;
  if (sparse || !adjust) return {};
  RILL_ASSIGN_OR_RETURN(const size_t multiple, in.size_or("block_multiple_of", 256));
  if (multiple == 0) return in.wrong("block_multiple_of", "a positive integer");
  const size_t two_thirds = 2 * width / 3;
  const Json* multiplier_key = in.json.find("block_ffn_dim_multiplier");
  const bool no_multiplier = multiplier_key != nullptr && multiplier_key->is_null();
  RILL_ASSIGN_OR_RETURN(const double multiplier, in.number_or("block_ffn_dim_multiplier", 1.0));
  if (!(multiplier > 0.0 && multiplier < 1e6))
    return in.wrong("block_ffn_dim_multiplier", "a positive number");
  const auto scaled = static_cast<size_t>(multiplier * static_cast<double>(two_thirds));
  config.intermediate_size = no_multiplier ? two_thirds : round_up(scaled, multiple);
  config.other_intermediate_sizes = {width, two_thirds, round_up(two_thirds, multiple)};
  return {};
}

Status read_experts(const JsonReader& in, Config& config) {
  RILL_ASSIGN_OR_RETURN(config.num_experts, in.size("num_experts"));
  if (config.num_experts == 0) return in.wrong("num_experts", "at least 1");
  RILL_ASSIGN_OR_RETURN(config.num_experts_per_tok, in.size("num_experts_per_tok"));
  RILL_ASSIGN_OR_RETURN(config.moe_intermediate_size, in.size("moe_intermediate_size"));
  RILL_ASSIGN_OR_RETURN(config.num_dense_layers, in.size_or("num_dense_layers", 2));
  RILL_ASSIGN_OR_RETURN(config.use_expert_bias, in.flag_or("use_expert_bias", true));
  RILL_ASSIGN_OR_RETURN(config.norm_topk_prob, in.flag_or("norm_topk_prob", true));
  RILL_ASSIGN_OR_RETURN(const double scale, in.number_or("routed_scaling_factor", 1.0));
  config.routed_scaling_factor = static_cast<float>(scale);
  return {};
}

Status read_sizes(const JsonReader& in, Config& config) {
  RILL_ASSIGN_OR_RETURN(config.num_layers, in.size("num_hidden_layers"));
  RILL_ASSIGN_OR_RETURN(config.hidden_size, in.size("hidden_size"));
  RILL_ASSIGN_OR_RETURN(config.num_heads, in.size("num_attention_heads"));
  RILL_ASSIGN_OR_RETURN(config.num_kv_heads, in.size("num_key_value_heads"));
  RILL_ASSIGN_OR_RETURN(config.vocab_size, in.size("vocab_size"));
  RILL_ASSIGN_OR_RETURN(config.context_length, in.size_or("max_position_embeddings", 128000));
  RILL_ASSIGN_OR_RETURN(config.conv_L_cache, in.size_or("conv_L_cache", 3));
  RILL_ASSIGN_OR_RETURN(config.conv_bias, in.flag_or("conv_bias", false));
  RILL_ASSIGN_OR_RETURN(const double eps, in.number_or("norm_eps", 1e-5));
  config.norm_eps = static_cast<float>(eps);
  const std::string_view tie_key =
      in.has("tie_embedding") ? "tie_embedding" : "tie_word_embeddings";
  RILL_ASSIGN_OR_RETURN(config.tie_embedding, in.flag_or(tie_key, true));
  RILL_ASSIGN_OR_RETURN(config.embedding_length_out, in.size_or("output_size", 0));
  if (config.num_heads == 0) return {};  // validate_config reports it
  RILL_ASSIGN_OR_RETURN(config.head_dim,
                        in.size_or("head_dim", config.hidden_size / config.num_heads));
  if (!in.has("head_dim") && config.hidden_size % config.num_heads != 0) {
    return in.wrong("num_attention_heads", cat("a divisor of hidden_size ", config.hidden_size));
  }
  return {};
}

}  // namespace

Result<Config> config_from_json(const Json& json, const std::string& name, Role role) {
  const JsonReader in{json, name};
  if (!json.is_object()) {
    return Error{ErrorCode::kInvalidFormat, cat("load config: ", name, ": got no JSON object")};
  }
  RILL_ASSIGN_OR_RETURN(const bool sparse, read_model_type(in));
  RILL_RETURN_IF_ERROR(refuse_unknown_operators(in));
  Config config;
  config.source = name;
  RILL_RETURN_IF_ERROR(read_sizes(in, config));
  RILL_RETURN_IF_ERROR(read_rope(in, config));
  RILL_RETURN_IF_ERROR(read_layer_types(in, config));
  RILL_RETURN_IF_ERROR(read_intermediate_size(in, sparse, config));
  if (sparse) RILL_RETURN_IF_ERROR(read_experts(in, config));
  RILL_RETURN_IF_ERROR(validate_config(config));
  if (config.vocab_size == 0) return in.wrong("vocab_size", "at least 1");
  if (role == Role::kGenerator && config.sliding_window != 0) {
    return refuse(in,
                  "layer_types: sliding_attention: this is the detokenizer part of a speech "
                  "checkpoint, not a language "
                  "model");
  }
  return config;
}

}  // namespace rill::model::lfm2
