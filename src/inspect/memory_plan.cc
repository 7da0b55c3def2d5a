// SPDX-License-Identifier: Apache-2.0
#include "inspect/memory_plan.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "inspect/work_plan.h"
#include "kernels/quantize_activations/quantize_activations.h"
#include "model/lfm2/backbone.h"
#include "model/lfm2/kv_blocks.h"
#include "model/lfm2_audio/files.h"
#include "ops/attention.h"
#include "quant/blocks.h"
#include "quant/pack_panel.h"

namespace rill::inspect {
namespace {

using model::lfm2::Backbone;
using model::lfm2::Config;

constexpr size_t kFloat = sizeof(float);

Json bytes(size_t count) { return Json::integer(static_cast<int64_t>(count)); }

/// Names of small tensors of rank 2 and more that are read as F32 values, not as matrices.
bool is_values(std::string_view name) {
  return name.ends_with("shortconv.conv.weight") || name.find(".conv_dw.") != name.npos ||
         name.starts_with("a.conv1d.2.") || name.starts_with("a.conv1d.5.") ||
         name.find("pos_bias_") != name.npos || name.ends_with(".bias");
}

size_t panels(DType type, size_t rows, size_t cols) {
  return (rows + quant::kPanelRows - 1) / quant::kPanelRows * quant::packed_panel_bytes(type, cols);
}

size_t loaded_bytes(const NamedTensor& tensor) {
  const Shape& shape = tensor.view.shape;
  if (shape.rank() < 2 || is_values(tensor.name) || !quant::can_pack(tensor.view.dtype))
    return shape.num_elements() * kFloat;
  if (tensor.name.ends_with("ffn_gate_inp.weight"))
    return panels(DType::kF32, shape.rows(), shape.cols());
  const size_t parts = tensor.name.find("_exps.") != std::string::npos ? shape.dim(0) : 1;
  return parts * panels(tensor.view.dtype, shape.rows() / parts, shape.cols());
}

/// Keys and values of one position in all attention layers.
size_t kv_bytes_per_step(const Config& config, DType type) {
  return config.num_attention_layers() * row_bytes(type, 2 * config.num_kv_heads * config.head_dim);
}

/// A sequence takes whole blocks, and whole allocations of them.
size_t kv_bytes(const Config& config, DType type, size_t steps) {
  const size_t block_bytes = ops::kKvBlockPositions * kv_bytes_per_step(config, type);
  const size_t count = model::lfm2::KvBlocks::per_allocation(block_bytes);
  const size_t positions = count * ops::kKvBlockPositions;
  return (steps + positions - 1) / positions * count * block_bytes;
}

size_t conv_state_bytes(const Config& config) {
  return config.num_conv_layers() * (config.conv_L_cache - 1) * config.hidden_size * kFloat;
}

/// A row of activations as the kernels of quantized weights take it.
size_t quantized_row_bytes(size_t cols) {
  return (cols + quant::kChunkValues - 1) / quant::kChunkValues * sizeof(kernels::ActivationChunk);
}

model::lfm2::Role role_of(const format::GgufFile& file) {
  return file.tensors().find("dense_2.weight") != nullptr ? model::lfm2::Role::kDetokenizer
                                                          : model::lfm2::Role::kGenerator;
}

Result<std::vector<format::GgufFile>> open_files(const std::string& path, bool& is_package) {
  std::vector<format::GgufFile> files;
  std::error_code ignored;
  is_package = std::filesystem::is_directory(path, ignored);
  if (!is_package) {
    RILL_ASSIGN_OR_RETURN(auto file, format::GgufFile::open(path));
    files.push_back(std::move(file));
    return files;
  }
  using model::lfm2_audio::Use;
  auto chosen = model::lfm2_audio::select_files(path, {}, Use::kSpeak);
  if (!chosen) chosen = model::lfm2_audio::select_files(path, {}, Use::kListen);
  if (!chosen) return std::move(chosen).error();
  for (const std::string& name :
       {chosen->backbone, chosen->mmproj, chosen->vocoder, chosen->detokenizer}) {
    if (name.empty()) continue;
    RILL_ASSIGN_OR_RETURN(auto file, format::GgufFile::open(cat(path, "/", name)));
    files.push_back(std::move(file));
  }
  return files;
}

Error bad_plan(std::string_view part, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("plan: got '", printable(part), "', expected ", expected)};
}

Status read_part(std::string_view part, PlanOptions& options) {
  const size_t equals = std::min(part.find('='), part.size());
  const std::string_view key = part.substr(0, equals);
  const std::string_view value = part.substr(std::min(equals + 1, part.size()));
  if (key == "kv" && (value == "f16" || value == "f32")) {
    options.kv_type = value == "f16" ? DType::kF16 : DType::kF32;
    return {};
  }
  size_t* target = key == "ctx" ? &options.context : key == "batch" ? &options.batch : nullptr;
  if (target == nullptr) return bad_plan(part, "ctx=N, batch=M, kv=f16 or kv=f32");
  const auto number = parse_uint(value);
  if (!number || *number == 0 || *number > 1000000000)
    return bad_plan(part, cat(key, "=N with N from 1"));
  *target = static_cast<size_t>(*number);
  return {};
}

}  // namespace

Result<PlanOptions> parse_plan_options(std::string_view text) {
  PlanOptions options;
  const std::string_view whole = text;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    RILL_RETURN_IF_ERROR(read_part(text.substr(0, comma), options));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (options.context == 0) return bad_plan(whole, "ctx=N among its parts");
  return options;
}

size_t loaded_bytes(const format::GgufFile& file) {
  size_t total = 0;
  for (const NamedTensor& tensor : file.tensors().all()) total += loaded_bytes(tensor);
  return total;
}

size_t activation_bytes(const Config& config, size_t rows, size_t batch, size_t threads) {
  const size_t D = config.hidden_size;
  const size_t Hd = config.num_heads * config.head_dim;
  const size_t Gd = config.num_kv_heads * config.head_dim;
  const size_t quantized = quantized_row_bytes(D);
  // Input, residual stream, rotation angles; a layer's normed input and result.
  const size_t stream = (4 * D + config.head_dim) * kFloat;
  const size_t conv = 4 * D * kFloat + quantized;
  // Keys and values of a tile, widened, for each thread (ops/attention.cc).
  const size_t tiles = threads * 2 * 64 * config.head_dim * kFloat;
  const size_t attention = 2 * (Hd + Gd) * kFloat + std::max(quantized, quantized_row_bytes(Hd));
  const auto swiglu = [&](size_t width) {
    return 2 * width * kFloat + std::max(quantized, quantized_row_bytes(width));
  };
  const size_t dense = swiglu(config.intermediate_size);
  // Every row may have chosen the same expert.
  const size_t sparse =
      config.num_experts == 0
          ? 0
          : (2 * D + config.num_experts + 4 * config.num_experts_per_tok) * kFloat +
                swiglu(config.moe_intermediate_size);
  const size_t widest = std::max({conv, attention, dense, sparse});
  const size_t logits = batch * (config.vocab_size + D) * kFloat;
  return std::max(rows * (stream + widest) + tiles, logits) + batch * config.vocab_size * kFloat;
}

Result<Json> plan_path(const std::string& path, const PlanOptions& options, size_t threads) {
  bool is_package = false;
  RILL_ASSIGN_OR_RETURN(const std::vector<format::GgufFile> files, open_files(path, is_package));
  RILL_ASSIGN_OR_RETURN(const Config config,
                        model::lfm2::config_from_gguf(files.front(), role_of(files.front())));
  if (options.context > config.context_length) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("plan: ctx: got ", options.context, ", ", files.front().name(),
                     " has a context of ", config.context_length)};
  }
  const DType kv_type = options.kv_type.value_or(is_package ? DType::kF32 : DType::kF16);
  size_t weights = 0;
  size_t stored = 0;
  for (const format::GgufFile& file : files) {
    weights += loaded_bytes(file);
    stored += file.size_bytes();
  }
  const size_t kv = options.batch * kv_bytes(config, kv_type, options.context);
  const size_t conv = options.batch * conv_state_bytes(config);
  const size_t rows = std::min(std::max(options.context, options.batch), Backbone::kMaxPieceSteps);
  const size_t activations = activation_bytes(config, rows, options.batch, threads);
  Json memory = Json::object();
  memory.set("weights_bytes", bytes(weights));
  memory.set("kv_bytes", bytes(kv));
  memory.set("conv_state_bytes", bytes(conv));
  memory.set("activation_bytes", bytes(activations));
  memory.set("total_bytes", bytes(weights + kv + conv + activations));
  Json plan = Json::object();
  plan.set("file_bytes", bytes(stored));
  plan.set("context", bytes(options.context));
  plan.set("batch", bytes(options.batch));
  plan.set("kv_type", Json::string(std::string(dtype_name(kv_type))));
  plan.set("memory", std::move(memory));
  plan.set("work", work_plan(files.front(), config, kv_type, options.context));
  return plan;
}

Json memory_plan(const format::GgufFile& file) {
  Json plan = Json::object();
  plan.set("weights_bytes", bytes(loaded_bytes(file)));
  const auto config = model::lfm2::config_from_gguf(file, role_of(file));
  if (!config) return plan;
  plan.set("kv_bytes_per_step_f32", bytes(kv_bytes_per_step(*config, DType::kF32)));
  plan.set("kv_bytes_per_step_f16", bytes(kv_bytes_per_step(*config, DType::kF16)));
  plan.set("conv_state_bytes", bytes(conv_state_bytes(*config)));
  plan.set("prefill_activation_bytes",
           bytes(activation_bytes(*config, Backbone::kMaxPieceSteps, 1, 1)));
  Json contexts = Json::object();
  for (const size_t length : std::set<size_t>{4096, 32768, config->context_length}) {
    if (length > config->context_length) continue;
    contexts.set(cat(length),
                 bytes(kv_bytes(*config, DType::kF32, length) + conv_state_bytes(*config)));
  }
  plan.set("state_bytes_f32_by_context", std::move(contexts));
  return plan;
}

}  // namespace rill::inspect
