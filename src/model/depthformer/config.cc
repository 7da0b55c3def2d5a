// SPDX-License-Identifier: Apache-2.0
#include "model/depthformer/config.h"

#include <string>
#include <string_view>

#include "base/str_cat.h"

namespace rill::model::depthformer {
namespace {

// Far above every published model; they keep all later size arithmetic free of overflow.
constexpr size_t kMaxWidth = size_t{1} << 20;
constexpr size_t kMaxLayers = 1024;
constexpr size_t kMaxCodebooks = 64;
constexpr std::string_view kArchitecture =
    "this model cannot be used as LLM, use it via --model-vocoder in TTS examples";

Error bad_config(const format::GgufFile& file, std::string_view what) {
  return Error{ErrorCode::kInvalidFormat, cat("load vocoder: ", file.name(), ": ", what)};
}

Status read_size(const format::GgufFile& file, std::string_view key, size_t limit, size_t& out) {
  RILL_ASSIGN_OR_RETURN(const uint32_t value, file.metadata().get_u32(key));
  if (value == 0 || value > limit) {
    return bad_config(file, cat(key, ": got ", value, ", expected 1 to ", limit));
  }
  out = value;
  return {};
}

/// Rows and columns of a matrix, or 1 and the length of a vector.
struct Sizes {
  size_t rows = 0;
  size_t cols = 0;
};
Result<Sizes> sizes_of(const format::GgufFile& file, std::string_view name) {
  const NamedTensor* tensor = file.tensors().find(name);
  if (tensor == nullptr) {
    return Error{ErrorCode::kNotFound, cat("load vocoder: ", file.name(), ": no tensor ", name)};
  }
  const Shape& shape = tensor->view.shape;
  const Sizes sizes = {shape.rows(), shape.cols()};
  if (sizes.rows == 0 || sizes.cols == 0 || sizes.rows > kMaxWidth * kMaxCodebooks ||
      sizes.cols > kMaxWidth) {
    return bad_config(file, cat(name, ": got shape ", shape.to_string(),
                                ", expected sizes from 1 to ", kMaxWidth));
  }
  return sizes;
}

Status read_codebooks(const format::GgufFile& file, Config& config) {
  RILL_ASSIGN_OR_RETURN(const Sizes linear, sizes_of(file, "depth_linear.weight"));
  config.backbone_size = linear.cols;
  config.num_codebooks = linear.rows / config.hidden_size;
  if (linear.rows % config.hidden_size != 0 || config.num_codebooks > kMaxCodebooks) {
    return bad_config(file, cat("depth_linear.weight: got ", linear.rows, " rows, expected 1 to ",
                                kMaxCodebooks, " times depthformer_n_embd = ", config.hidden_size));
  }
  RILL_ASSIGN_OR_RETURN(const Sizes embedding,
                        sizes_of(file, "depth_embeddings.0.embedding.weight"));
  config.audio_vocab_size = embedding.rows;
  if (embedding.rows < 2 || embedding.rows > kMaxWidth) {
    return bad_config(file, cat("depth_embeddings.0.embedding.weight: got ", embedding.rows,
                                " rows, expected codes and an end code"));
  }
  return {};
}

Status read_heads(const format::GgufFile& file, Config& config) {
  RILL_ASSIGN_OR_RETURN(
      const Sizes norm,
      sizes_of(file, "depthformer.layers.0.operator.attention.q_layernorm.weight"));
  RILL_ASSIGN_OR_RETURN(const Sizes qkv,
                        sizes_of(file, "depthformer.layers.0.operator.qkv_proj.weight"));
  config.head_dim = norm.cols;
  config.num_heads = config.hidden_size / config.head_dim;
  if (config.hidden_size % config.head_dim != 0 || config.head_dim % 2 != 0) {
    return bad_config(
        file, cat("q_layernorm: got heads of ", config.head_dim,
                  ", expected an even divisor of depthformer_n_embd = ", config.hidden_size));
  }
  const size_t kv_rows = qkv.rows > config.hidden_size ? qkv.rows - config.hidden_size : 0;
  config.num_kv_heads = kv_rows / (2 * config.head_dim);
  if (config.num_kv_heads == 0 || kv_rows % (2 * config.head_dim) != 0 ||
      config.num_heads % config.num_kv_heads != 0) {
    return bad_config(file,
                      cat("depthformer.layers.0.operator.qkv_proj.weight: got ", qkv.rows,
                          " rows, expected ", config.hidden_size, " for queries and heads of ",
                          config.head_dim, " for keys and values"));
  }
  return {};
}

}  // namespace

Result<Config> read_config(const format::GgufFile& vocoder) {
  RILL_ASSIGN_OR_RETURN(const std::string architecture,
                        vocoder.metadata().get_string("general.architecture"));
  if (architecture != kArchitecture) {
    return Error{ErrorCode::kUnsupported,
                 cat("load vocoder: ", vocoder.name(), ": general.architecture: got ",
                     printable(architecture), ", expected '", kArchitecture, "'")};
  }
  Config config;
  RILL_RETURN_IF_ERROR(read_size(vocoder, "depthformer_n_layer", kMaxLayers, config.num_layers));
  RILL_RETURN_IF_ERROR(read_size(vocoder, "depthformer_n_embd", kMaxWidth, config.hidden_size));
  RILL_RETURN_IF_ERROR(read_codebooks(vocoder, config));
  RILL_RETURN_IF_ERROR(read_heads(vocoder, config));
  RILL_ASSIGN_OR_RETURN(const Sizes w1,
                        sizes_of(vocoder, "depthformer.layers.0.feed_forward.w1.weight"));
  config.intermediate_size = w1.rows;
  return config;
}

}  // namespace rill::model::depthformer
