// SPDX-License-Identifier: Apache-2.0
// Config from GGUF metadata: which files are refused and why, then the sizes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/str_cat.h"
#include "format/portable.h"
#include "model/lfm2/config.h"

namespace rill::model::lfm2 {
namespace {

using format::GgufFile;
using format::Metadata;
using format::MetadataValue;

constexpr std::string_view kVocoderArchitecture = "this model cannot be used as LLM";

/// Reads keys "<architecture>.<name>".
struct KeyReader {
  const Metadata& metadata;
  std::string prefix;

  [[nodiscard]] std::string key(std::string_view name) const { return cat(prefix, ".", name); }
  Result<size_t> size(std::string_view name) const {
    RILL_ASSIGN_OR_RETURN(const uint32_t value, metadata.get_u32(key(name)));
    return size_t{value};
  }
  Result<size_t> size_or(std::string_view name, size_t fallback) const {
    return metadata.has(key(name)) ? size(name) : Result<size_t>(fallback);
  }
};

Error refuse(const Metadata& metadata, const std::string& what) {
  return Error{ErrorCode::kUnsupported, cat("load config: ", metadata.source(), ": ", what)};
}

Error contradiction(const Metadata& metadata, const std::string& what) {
  return Error{ErrorCode::kInvalidFormat, cat("load config: ", metadata.source(), ": ", what)};
}

/// The numeric value of a key, if it has one.
std::optional<double> number(const MetadataValue& value) {
  if (const auto* u = std::get_if<uint64_t>(&value.value)) return static_cast<double>(*u);
  if (const auto* i = std::get_if<int64_t>(&value.value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value.value)) return *d;
  return std::nullopt;
}

/// Says in plain words what the file is when it is a part of a speech package, or of another
/// architecture.
Result<std::string> read_architecture(const Metadata& metadata) {
  RILL_ASSIGN_OR_RETURN(std::string name, metadata.get_string("general.architecture"));
  if (name == "lfm2" || name == "lfm2moe") return name;
  if (name == "clip") {
    return refuse(metadata,
                  "this is the encoder part (mmproj) of a speech or vision package, not a language "
                  "model; give the "
                  "package directory, or the backbone file");
  }
  if (name.starts_with(kVocoderArchitecture)) {
    return refuse(metadata,
                  "this is the vocoder part of a speech package, not a language model; give the "
                  "package directory, or "
                  "the backbone file");
  }
  const bool newer = name.starts_with("lfm");
  return refuse(metadata, cat("general.architecture: got \"", printable(name),
                              "\", this version of rill runs lfm2 and lfm2moe",
                              newer ? "; a newer version may know it" : ""));
}

/// Embedding variants share the architecture's name but do not generate text.
Status refuse_pooled(const KeyReader& keys) {
  const Metadata& metadata = keys.metadata;
  RILL_ASSIGN_OR_RETURN(const bool causal,
                        metadata.get_bool_or(keys.key("attention.causal"), true));
  if (!causal) {
    return refuse(metadata,
                  cat(keys.key("attention.causal"),
                      ": got false: this is an embedding model, which does not generate text"));
  }
  const MetadataValue* pooling = metadata.find(keys.key("pooling_type"));
  if (pooling != nullptr && number(*pooling) != 0.0) {
    return refuse(
        metadata,
        cat(keys.key("pooling_type"),
            ": this is an embedding model with pooled outputs, which does not generate text"));
  }
  return {};
}

Status check_role(const KeyReader& keys, const GgufFile& file, Role role) {
  const bool has_projection = keys.metadata.has(keys.key("embedding_length_out")) ||
                              file.tensors().find("dense_2.weight") != nullptr;
  if (role == Role::kGenerator && has_projection) {
    return refuse(keys.metadata,
                  "this is the detokenizer part (tokenizer-...) of a speech package or an "
                  "embedding model, not a language "
                  "model; give the package directory, or the backbone file");
  }
  if (role == Role::kDetokenizer && !keys.metadata.has(keys.key("attention.sliding_window"))) {
    return contradiction(keys.metadata,
                         cat(keys.key("attention.sliding_window"),
                             ": no such key; the detokenizer of a speech package has it"));
  }
  return {};
}

/// Keys that would change the arithmetic, with the one value that does not.
struct NeutralKey {
  std::string_view name;
  double neutral;
};
constexpr NeutralKey kNeutralKeys[] = {
    {"logit_scale", 1},         {"residual_scale", 1},          {"embedding_scale", 1},
    {"attention.scale", 0},     {"attention.clamp_kqv", 0},     {"attention.max_alibi_bias", 0},
    {"rope.scaling.factor", 1}, {"attn_logit_softcapping", 0},  {"final_logit_softcapping", 0},
    {"expert_shared_count", 0}, {"nextn_predict_layers", 0},    {"leading_dense_block_count", 0},
    {"expert_group_count", 1},  {"expert_group_used_count", 1}, {"expert_count", 0},
    {"expert_used_count", 0},
};
constexpr std::string_view kKnownSwitches[] = {"attention.causal", "expert_weights_norm"};

Status refuse_unknown_operators(const KeyReader& keys, bool sparse) {
  const Metadata& metadata = keys.metadata;
  for (const NeutralKey& entry : kNeutralKeys) {
    const bool belongs_to_sparse = entry.name == "expert_count" ||
                                   entry.name == "expert_used_count" ||
                                   entry.name == "leading_dense_block_count";
    if (sparse && belongs_to_sparse) continue;
    const MetadataValue* value = metadata.find(keys.key(entry.name));
    if (value == nullptr) continue;
    const std::optional<double> got = number(*value);
    if (got != entry.neutral && got != 0.0) {
      return refuse(metadata,
                    cat(keys.key(entry.name), ": this build does not know what it asks for"));
    }
  }
  RILL_ASSIGN_OR_RETURN(const std::string scaling,
                        metadata.get_string_or(keys.key("rope.scaling.type"), "none"));
  if (scaling != "none") {
    return refuse(metadata, cat(keys.key("rope.scaling.type"), ": got \"", printable(scaling),
                                "\", this build knows none"));
  }
  // A switch that is on asks for something; a number or a text may just describe.
  for (const auto& [key, value] : metadata.all()) {
    if (!key.starts_with(keys.prefix + ".")) continue;
    const bool* on = std::get_if<bool>(&value.value);
    if (on == nullptr || !*on) continue;
    const std::string_view name = std::string_view(key).substr(keys.prefix.size() + 1);
    if (std::find(std::begin(kKnownSwitches), std::end(kKnownSwitches), name) ==
        std::end(kKnownSwitches)) {
      return refuse(metadata, cat(printable(key), ": unknown switch that is on"));
    }
  }
  return {};
}

/// head_count_kv has one value per layer, 0 for conv layers: that is how a file stores the kinds of
/// its layers.
Status read_layer_types(const KeyReader& keys, Config& config) {
  const std::string key = keys.key("attention.head_count_kv");
  RILL_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, keys.metadata.get_ints(key));
  if (counts.size() != config.num_layers) {
    return contradiction(keys.metadata,
                         cat(key, ": got ", counts.size(), " values, expected one for each of the ",
                             config.num_layers, " layers"));
  }
  for (const int64_t count : counts) {
    if (count < 0 || (count > 0 && config.num_kv_heads > 0 &&
                      static_cast<size_t>(count) != config.num_kv_heads)) {
      return contradiction(keys.metadata, cat(key, ": got ", std::span<const int64_t>(counts),
                                              ", expected 0 or one number throughout"));
    }
    if (count > 0) config.num_kv_heads = static_cast<size_t>(count);
    config.layer_types.push_back(count > 0 ? LayerKind::kAttention : LayerKind::kConv);
  }
  return {};
}

Status read_head_dim(const KeyReader& keys, Config& config) {
  if (config.num_heads == 0) return {};  // validate_config reports it
  RILL_ASSIGN_OR_RETURN(
      config.head_dim, keys.size_or("attention.key_length", config.hidden_size / config.num_heads));
  if (!keys.metadata.has(keys.key("attention.key_length")) &&
      config.hidden_size % config.num_heads != 0) {
    return contradiction(keys.metadata,
                         cat(keys.key("attention.head_count"), ": got ", config.num_heads,
                             ", expected a divisor of the hidden size ", config.hidden_size));
  }
  for (const std::string_view name : {"attention.value_length", "rope.dimension_count"}) {
    RILL_ASSIGN_OR_RETURN(const size_t other, keys.size_or(name, config.head_dim));
    if (other != config.head_dim) {
      return refuse(keys.metadata, cat(keys.key(name), ": got ", other, ", expected the head size ",
                                       config.head_dim));
    }
  }
  return {};
}

Status read_vocab_size(const KeyReader& keys, const GgufFile& file, Role role, Config& config) {
  const NamedTensor* table = file.tensors().find("token_embd.weight");
  const size_t rows = table == nullptr ? 0 : table->view.shape.rows();
  RILL_ASSIGN_OR_RETURN(config.vocab_size, keys.size_or("vocab_size", rows));
  if (role == Role::kGenerator && config.vocab_size == 0) {
    return contradiction(keys.metadata,
                         cat(keys.key("vocab_size"), ": got 0, expected at least 1"));
  }
  return {};
}

Status read_experts(const KeyReader& keys, const GgufFile& file, Config& config) {
  const Metadata& metadata = keys.metadata;
  RILL_ASSIGN_OR_RETURN(config.num_experts, keys.size("expert_count"));
  RILL_ASSIGN_OR_RETURN(config.num_experts_per_tok, keys.size("expert_used_count"));
  RILL_ASSIGN_OR_RETURN(config.moe_intermediate_size, keys.size("expert_feed_forward_length"));
  RILL_ASSIGN_OR_RETURN(config.num_dense_layers, keys.size("leading_dense_block_count"));
  if (config.num_experts == 0) {
    return contradiction(metadata, cat(keys.key("expert_count"), ": got 0, expected at least 1"));
  }
  constexpr size_t kSigmoid = 2;
  RILL_ASSIGN_OR_RETURN(const size_t gating, keys.size_or("expert_gating_func", kSigmoid));
  if (gating != kSigmoid) {
    return refuse(metadata, cat(keys.key("expert_gating_func"), ": got ", gating,
                                ", this build knows 2 (sigmoid)"));
  }
  RILL_ASSIGN_OR_RETURN(config.norm_topk_prob,
                        metadata.get_bool_or(keys.key("expert_weights_norm"), true));
  RILL_ASSIGN_OR_RETURN(const double scale,
                        metadata.get_float_or(keys.key("expert_weights_scale"), 1.0));
  // Writers leave 0 where they mean "no scale".
  config.routed_scaling_factor = scale == 0.0 ? 1.0f : static_cast<float>(scale);
  const std::string first_bias = cat("blk.", config.num_dense_layers, ".exp_probs_b.bias");
  config.use_expert_bias = file.tensors().find(first_bias) != nullptr;
  return {};
}

/// GGUF has no key for the biases and for the untied head: the tensors say it.
void read_tensor_switches(const GgufFile& file, Config& config) {
  config.tie_embedding = file.tensors().find("output.weight") == nullptr;
  for (size_t i = 0; i < config.num_layers; ++i) {
    if (config.is_attention(i)) continue;
    config.conv_bias = file.tensors().find(cat("blk.", i, ".shortconv.in_proj.bias")) != nullptr;
    return;
  }
}

Status read_sizes(const KeyReader& keys, const GgufFile& file, Role role, Config& config) {
  const Metadata& metadata = keys.metadata;
  RILL_ASSIGN_OR_RETURN(config.num_layers, keys.size("block_count"));
  RILL_ASSIGN_OR_RETURN(config.context_length, keys.size("context_length"));
  RILL_ASSIGN_OR_RETURN(config.hidden_size, keys.size("embedding_length"));
  RILL_ASSIGN_OR_RETURN(config.intermediate_size, keys.size("feed_forward_length"));
  RILL_ASSIGN_OR_RETURN(config.num_heads, keys.size("attention.head_count"));
  RILL_ASSIGN_OR_RETURN(const double eps,
                        metadata.get_float(keys.key("attention.layer_norm_rms_epsilon")));
  config.norm_eps = static_cast<float>(eps);
  RILL_ASSIGN_OR_RETURN(config.rope_theta, metadata.get_float(keys.key("rope.freq_base")));
  RILL_ASSIGN_OR_RETURN(config.conv_L_cache, keys.size("shortconv.l_cache"));
  RILL_ASSIGN_OR_RETURN(config.sliding_window, keys.size_or("attention.sliding_window", 0));
  RILL_ASSIGN_OR_RETURN(config.embedding_length_out, keys.size_or("embedding_length_out", 0));
  RILL_RETURN_IF_ERROR(read_layer_types(keys, config));
  RILL_RETURN_IF_ERROR(read_head_dim(keys, config));
  return read_vocab_size(keys, file, role, config);
}

}  // namespace

Result<Config> config_from_gguf(const GgufFile& file, Role role) {
  const Metadata& metadata = file.metadata();
  RILL_ASSIGN_OR_RETURN(const std::string architecture, read_architecture(metadata));
  RILL_RETURN_IF_ERROR(format::check_portable(file));
  const KeyReader keys{metadata, architecture};
  const bool sparse = architecture == "lfm2moe";
  RILL_RETURN_IF_ERROR(refuse_pooled(keys));
  RILL_RETURN_IF_ERROR(check_role(keys, file, role));
  RILL_RETURN_IF_ERROR(refuse_unknown_operators(keys, sparse));
  Config config;
  config.source = metadata.source();
  RILL_RETURN_IF_ERROR(read_sizes(keys, file, role, config));
  if (sparse) RILL_RETURN_IF_ERROR(read_experts(keys, file, config));
  RILL_RETURN_IF_ERROR(validate_config(config));
  read_tensor_switches(file, config);
  return config;
}

}  // namespace rill::model::lfm2
