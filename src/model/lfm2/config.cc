// SPDX-License-Identifier: Apache-2.0
// Checks that both readers of a Config share.
#include "model/lfm2/config.h"

#include <cmath>

#include "base/str_cat.h"
#include "ops/moe.h"

namespace rill::model::lfm2 {
namespace {

// Far above any known model; they keep products of sizes inside 64 bits.
constexpr size_t kMaxLayers = 1024;
constexpr size_t kMaxWidth = size_t{1} << 20;
constexpr size_t kMaxHeads = 1024;
constexpr size_t kMaxHeadDim = 1024;
constexpr size_t kMaxVocab = size_t{1} << 24;
constexpr size_t kMaxContext = size_t{1} << 24;
constexpr size_t kMaxKernel = 64;

Error bad(const Config& config, const std::string& what) {
  return Error{ErrorCode::kInvalidFormat, cat("load config: ", config.source, ": ", what)};
}

Status check_range(const Config& config, const char* name, size_t value, size_t min, size_t max) {
  if (value >= min && value <= max) return {};
  return bad(config, cat(name, ": got ", value, ", expected ", min, " to ", max));
}

Status check_attention(const Config& config) {
  RILL_RETURN_IF_ERROR(
      check_range(config, "number of attention heads", config.num_heads, 1, kMaxHeads));
  RILL_RETURN_IF_ERROR(check_range(config, "head size", config.head_dim, 2, kMaxHeadDim));
  if (config.head_dim % 2 != 0) {
    return bad(config, cat("head size: got ", config.head_dim, ", expected an even number"));
  }
  if (config.num_attention_layers() == 0) return {};
  RILL_RETURN_IF_ERROR(
      check_range(config, "number of key/value heads", config.num_kv_heads, 1, config.num_heads));
  if (config.num_heads % config.num_kv_heads != 0) {
    return bad(config,
               cat("number of attention heads: got ", config.num_heads,
                   ", expected a multiple of the ", config.num_kv_heads, " key/value heads"));
  }
  return {};
}

Status check_experts(const Config& config) {
  if (config.num_experts == 0) return {};
  RILL_RETURN_IF_ERROR(
      check_range(config, "number of experts", config.num_experts, 1, ops::kMaxExperts));
  RILL_RETURN_IF_ERROR(
      check_range(config, "experts per token", config.num_experts_per_tok, 1, config.num_experts));
  RILL_RETURN_IF_ERROR(
      check_range(config, "expert width", config.moe_intermediate_size, 1, kMaxWidth));
  RILL_RETURN_IF_ERROR(
      check_range(config, "number of dense layers", config.num_dense_layers, 0, config.num_layers));
  if (!std::isfinite(config.routed_scaling_factor)) {
    return bad(config, "routed scaling factor: got a value that is not finite");
  }
  return {};
}

}  // namespace

size_t Config::num_attention_layers() const {
  size_t count = 0;
  for (const LayerKind kind : layer_types) count += kind == LayerKind::kAttention ? 1 : 0;
  return count;
}

Status validate_config(const Config& config) {
  RILL_RETURN_IF_ERROR(check_range(config, "number of layers", config.num_layers, 1, kMaxLayers));
  if (config.layer_types.size() != config.num_layers) {
    return bad(config, cat("layer types: got ", config.layer_types.size(),
                           ", expected one for each of the ", config.num_layers, " layers"));
  }
  RILL_RETURN_IF_ERROR(check_range(config, "hidden size", config.hidden_size, 1, kMaxWidth));
  RILL_RETURN_IF_ERROR(check_attention(config));
  RILL_RETURN_IF_ERROR(
      check_range(config, "feed-forward width", config.intermediate_size, 1, kMaxWidth));
  RILL_RETURN_IF_ERROR(check_range(config, "vocabulary size", config.vocab_size, 0, kMaxVocab));
  RILL_RETURN_IF_ERROR(
      check_range(config, "context length", config.context_length, 1, kMaxContext));
  RILL_RETURN_IF_ERROR(
      check_range(config, "conv kernel length", config.conv_L_cache, 2, kMaxKernel));
  if (!(config.norm_eps > 0.0f && config.norm_eps < 1.0f)) {
    return bad(config,
               cat("norm epsilon: got ", config.norm_eps, ", expected a value between 0 and 1"));
  }
  if (!(config.rope_theta >= 1.0 && config.rope_theta <= 1e12)) {
    return bad(config, cat("rope base: got ", config.rope_theta, ", expected 1 to 1e12"));
  }
  return check_experts(config);
}

}  // namespace rill::model::lfm2
