// SPDX-License-Identifier: Apache-2.0
#include "inspect/memory_plan.h"

#include <algorithm>
#include <set>

#include "base/str_cat.h"
#include "model/lfm2/backbone.h"
#include "model/lfm2/config.h"

namespace rill::inspect {
namespace {

using model::lfm2::Config;

Json bytes(size_t count) { return Json::integer(static_cast<int64_t>(count)); }

size_t weight_bytes(const format::GgufFile& file) {
  size_t total = 0;
  for (const NamedTensor& tensor : file.tensors().all()) total += tensor.view.size_bytes();
  return total;
}

/// Keys and values of one position in all attention layers, F32.
size_t kv_bytes_per_step(const Config& config) {
  return config.num_attention_layers() * 2 * config.num_kv_heads * config.head_dim * sizeof(float);
}

size_t conv_state_bytes(const Config& config) {
  return config.num_conv_layers() * (config.conv_L_cache - 1) * config.hidden_size * sizeof(float);
}

/// The widest moment of a layer over the largest piece of a prompt: stream, norm, projections,
/// feed-forward.
size_t activation_bytes(const Config& config) {
  const size_t heads =
      config.num_heads * config.head_dim + 2 * config.num_kv_heads * config.head_dim;
  const size_t op = std::max(4 * config.hidden_size, heads + config.hidden_size);
  const size_t ffn = 2 * std::max(config.intermediate_size, config.moe_intermediate_size);
  const size_t row = 3 * config.hidden_size + std::max(op, ffn);
  return model::lfm2::Backbone::kMaxPieceSteps * row * sizeof(float);
}

}  // namespace

Json memory_plan(const format::GgufFile& file) {
  Json plan = Json::object();
  plan.set("weights_bytes", bytes(weight_bytes(file)));
  const auto role = file.tensors().find("dense_2.weight") != nullptr
                        ? model::lfm2::Role::kDetokenizer
                        : model::lfm2::Role::kGenerator;
  const auto config = model::lfm2::config_from_gguf(file, role);
  if (!config) return plan;
  const size_t step = kv_bytes_per_step(*config);
  plan.set("kv_bytes_per_step_f32", bytes(step));
  plan.set("kv_bytes_per_step_f16", bytes(step / 2));
  plan.set("conv_state_bytes", bytes(conv_state_bytes(*config)));
  plan.set("prefill_activation_bytes", bytes(activation_bytes(*config)));
  Json contexts = Json::object();
  for (const size_t length : std::set<size_t>{4096, 32768, config->context_length}) {
    if (length > config->context_length) continue;
    contexts.set(cat(length), bytes(length * step + conv_state_bytes(*config)));
  }
  plan.set("state_bytes_f32_by_context", std::move(contexts));
  return plan;
}

}  // namespace rill::inspect
