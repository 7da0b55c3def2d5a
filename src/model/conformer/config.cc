// SPDX-License-Identifier: Apache-2.0
#include "model/conformer/config.h"

#include <string>
#include <string_view>

#include "base/str_cat.h"
#include "ops/conv.h"

namespace rill::model::conformer {
namespace {

// Far above every published model; they keep all later size arithmetic free of overflow.
constexpr size_t kMaxWidth = size_t{1} << 20;
constexpr size_t kMaxLayers = 1024;

Error bad_config(const format::GgufFile& file, std::string_view what) {
  return Error{ErrorCode::kInvalidFormat, cat("load mmproj: ", file.name(), ": ", what)};
}

Status check_kind(const format::GgufFile& file) {
  RILL_ASSIGN_OR_RETURN(const std::string architecture,
                        file.metadata().get_string("general.architecture"));
  if (architecture != "clip") {
    return Error{ErrorCode::kUnsupported,
                 cat("load mmproj: ", file.name(), ": general.architecture: got ",
                     printable(architecture), ", expected clip")};
  }
  RILL_ASSIGN_OR_RETURN(const std::string projector,
                        file.metadata().get_string("clip.projector_type"));
  if (projector != "lfm2a") {
    return Error{ErrorCode::kUnsupported,
                 cat("load mmproj: ", file.name(), ": clip.projector_type: got ",
                     printable(projector), ", expected lfm2a")};
  }
  RILL_ASSIGN_OR_RETURN(const bool has_encoder,
                        file.metadata().get_bool_or("clip.has_audio_encoder", true));
  if (!has_encoder) {
    return Error{ErrorCode::kUnsupported,
                 cat("load mmproj: ", file.name(), ": clip.has_audio_encoder is false")};
  }
  return {};
}

/// A size from the metadata, in [1, limit].
Status read_size(const format::GgufFile& file, std::string_view key, size_t limit, size_t& out) {
  RILL_ASSIGN_OR_RETURN(const uint32_t value, file.metadata().get_u32(key));
  if (value == 0 || value > limit) {
    return bad_config(file, cat(key, ": got ", value, ", expected 1 to ", limit));
  }
  out = value;
  return {};
}

/// A size from a tensor's shape: its first dimension, or its last.
enum class Axis { kFirst, kLast };
Status read_dim(const format::GgufFile& file, std::string_view name, Axis axis, size_t& out) {
  const NamedTensor* tensor = file.tensors().find(name);
  if (tensor == nullptr) {
    return Error{ErrorCode::kNotFound, cat("load mmproj: ", file.name(), ": no tensor ", name)};
  }
  const Shape& shape = tensor->view.shape;
  if (shape.rank() < 2) {
    return bad_config(file, cat(name, ": got shape ", shape.to_string(), ", expected a matrix"));
  }
  out = axis == Axis::kFirst ? shape.dim(0) : shape.cols();
  if (out == 0 || out > kMaxWidth) {
    return bad_config(file, cat(name, ": got shape ", shape.to_string(),
                                ", expected sizes from 1 to ", kMaxWidth));
  }
  return {};
}

Status check_sizes(const format::GgufFile& file, const Config& config) {
  const size_t d = config.hidden_size;
  if (d % config.num_heads != 0) {
    return bad_config(file, cat("clip.audio.attention.head_count: got ", config.num_heads,
                                ", expected a divisor of clip.audio.embedding_length = ", d));
  }
  if (d % 2 != 0) {
    return bad_config(file,
                      cat("clip.audio.embedding_length: got ", d, ", expected an even width"));
  }
  if (config.conv_kernel % 2 == 0 || config.conv_kernel > ops::kMaxConvKernel) {
    return bad_config(file, cat("a.blk.0.conv_dw.weight: got a kernel of ", config.conv_kernel,
                                " taps, expected an odd number up to ", ops::kMaxConvKernel));
  }
  if (!(config.layer_norm_eps > 0.0f) || config.layer_norm_eps > 1.0f) {
    return bad_config(file, cat("clip.audio.attention.layer_norm_epsilon: got ",
                                config.layer_norm_eps, ", expected a small positive number"));
  }
  return {};
}

}  // namespace

Result<Config> read_config(const format::GgufFile& mmproj) {
  RILL_RETURN_IF_ERROR(check_kind(mmproj));
  Config config;
  RILL_RETURN_IF_ERROR(
      read_size(mmproj, "clip.audio.num_mel_bins", kMaxWidth, config.num_mel_bins));
  RILL_RETURN_IF_ERROR(
      read_size(mmproj, "clip.audio.embedding_length", kMaxWidth, config.hidden_size));
  RILL_RETURN_IF_ERROR(read_size(mmproj, "clip.audio.block_count", kMaxLayers, config.num_layers));
  RILL_RETURN_IF_ERROR(
      read_size(mmproj, "clip.audio.attention.head_count", kMaxWidth, config.num_heads));
  RILL_RETURN_IF_ERROR(
      read_size(mmproj, "clip.audio.projection_dim", kMaxWidth, config.projection_size));
  RILL_ASSIGN_OR_RETURN(const double eps,
                        mmproj.metadata().get_float("clip.audio.attention.layer_norm_epsilon"));
  config.layer_norm_eps = static_cast<float>(eps);
  RILL_RETURN_IF_ERROR(
      read_dim(mmproj, "a.conv1d.0.weight", Axis::kFirst, config.subsampling_channels));
  RILL_RETURN_IF_ERROR(
      read_dim(mmproj, "a.blk.0.ffn_up.weight", Axis::kFirst, config.intermediate_size));
  RILL_RETURN_IF_ERROR(read_dim(mmproj, "a.blk.0.conv_dw.weight", Axis::kLast, config.conv_kernel));
  RILL_RETURN_IF_ERROR(read_dim(mmproj, "mm.a.mlp.1.weight", Axis::kFirst, config.adapter_size));
  RILL_RETURN_IF_ERROR(check_sizes(mmproj, config));
  return config;
}

}  // namespace rill::model::conformer
