// SPDX-License-Identifier: Apache-2.0
#include "inspect/work_plan.h"

#include <algorithm>
#include <string>

namespace rill::inspect {
namespace {

using model::lfm2::Config;

Json flops(size_t multiply_adds) { return Json::integer(static_cast<int64_t>(2 * multiply_adds)); }

/// Bytes of the weights that one token uses: of stacked experts only those that are chosen, and of
/// the token table everything only where it is the head as well.
size_t used_weight_bytes(const format::GgufFile& file, const Config& config) {
  size_t total = 0;
  for (const NamedTensor& tensor : file.tensors().all()) {
    const size_t size = tensor.view.size_bytes();
    if (tensor.name.find("_exps.") != std::string::npos) {
      total += size / config.num_experts * config.num_experts_per_tok;
    } else if (tensor.name == "token_embd.weight" && !config.tie_embedding) {
      total += row_bytes(tensor.view.dtype, config.hidden_size);
    } else {
      total += size;
    }
  }
  return total;
}

/// Positions that the tokens of a prompt see, all together.
size_t seen_positions(const Config& config, size_t length) {
  const size_t window = config.sliding_window == 0 ? length : config.sliding_window;
  const size_t growing = std::min(window, length);
  return growing * (growing + 1) / 2 + (length - growing) * window;
}

}  // namespace

TokenWork token_work(const Config& config) {
  const size_t D = config.hidden_size;
  const size_t Hd = config.num_heads * config.head_dim;
  const size_t Gd = config.num_kv_heads * config.head_dim;
  TokenWork work;
  // in_proj, the taps, the two gates, out_proj.
  work.conv = config.num_conv_layers() * (4 * D * D + D * config.conv_L_cache + 2 * D);
  work.attention = config.num_attention_layers() * (2 * Hd * D + 2 * Gd * D);
  work.per_position = config.num_attention_layers() * 2 * Hd;
  for (size_t i = 0; i < config.num_layers; ++i) {
    if (config.is_sparse(i)) {
      work.feed_forward += config.num_experts_per_tok * 3 * D * config.moe_intermediate_size;
      work.router += config.num_experts * D;
    } else {
      work.feed_forward += 3 * D * config.intermediate_size;
    }
  }
  work.head = config.vocab_size * D;
  return work;
}

Json work_plan(const format::GgufFile& file, const Config& config, DType kv_type, size_t context) {
  const TokenWork work = token_work(config);
  const size_t seen =
      config.sliding_window == 0 ? context : std::min(context, config.sliding_window);
  Json parts = Json::object();
  parts.set("short_convolutions", flops(work.conv));
  parts.set("attention_projections", flops(work.attention));
  parts.set("attention_per_position", flops(work.per_position));
  parts.set("feed_forward", flops(work.feed_forward));
  parts.set("router", flops(work.router));
  parts.set("head", flops(work.head));
  Json out = Json::object();
  out.set("flops_per_token_by_part", std::move(parts));
  out.set("decode_flops_first_token", flops(work.layers(1) + work.head));
  out.set("decode_flops_at_context", flops(work.layers(seen) + work.head));
  const size_t prompt =
      context * work.layers(0) + seen_positions(config, context) * work.per_position;
  out.set("prefill_flops", flops(prompt + work.head));
  const size_t kv = config.num_attention_layers() * seen *
                    row_bytes(kv_type, 2 * config.num_kv_heads * config.head_dim);
  out.set("decode_read_bytes_weights",
          Json::integer(static_cast<int64_t>(used_weight_bytes(file, config))));
  out.set("decode_read_bytes_kv", Json::integer(static_cast<int64_t>(kv)));
  return out;
}

}  // namespace rill::inspect
