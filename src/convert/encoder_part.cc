// SPDX-License-Identifier: Apache-2.0
// The mmproj part: FastConformer encoder, adapter, embedding of generated codes.
#include <cmath>
#include <utility>

#include "base/str_cat.h"
#include "convert/audio_parts.h"
#include "convert/part_writer.h"

namespace rill::convert {
namespace {

constexpr char kPointwiseNote[] = "pointwise convolution: F32 as in published packages";
constexpr char kPosBiasNote[] = "attention bias: small, added in F32";
constexpr char kCodeTableNote[] = "embedding of generated codes: its rows are summed in F32";
constexpr float kBatchNormEps = 1e-5f;

/// Adds the tensors of one encoder layer.
class LayerWriter {
 public:
  LayerWriter(const PartWriter& out, const AudioConfig& config, size_t layer)
      : out_(out),
        width_(config.encoder_width),
        heads_(config.encoder_heads),
        to_(cat("a.blk.", layer, ".")),
        from_(cat("conformer.layers.", layer, ".")) {}

  Status add_layer() {
    RILL_RETURN_IF_ERROR(norm("ffn_norm", "norm_feed_forward1"));
    RILL_RETURN_IF_ERROR(feed_forward("", "feed_forward1"));
    RILL_RETURN_IF_ERROR(norm("ln1", "norm_self_att"));
    RILL_RETURN_IF_ERROR(attention());
    RILL_RETURN_IF_ERROR(norm("norm_conv", "norm_conv"));
    RILL_RETURN_IF_ERROR(conv_module());
    RILL_RETURN_IF_ERROR(norm("ffn_norm_1", "norm_feed_forward2"));
    RILL_RETURN_IF_ERROR(feed_forward("_1", "feed_forward2"));
    return norm("ln2", "norm_out");
  }

 private:
  Status bias(std::string_view to, std::string_view from, size_t size) const {
    return out_.vector(cat(to_, to, ".bias"), cat(from_, from, ".bias"), size);
  }
  Status norm(std::string_view to, std::string_view from) const {
    RILL_RETURN_IF_ERROR(out_.vector(cat(to_, to, ".weight"), cat(from_, from, ".weight"), width_));
    return bias(to, from, width_);
  }
  Status linear(std::string_view to, std::string_view from, size_t rows, size_t cols) const {
    RILL_RETURN_IF_ERROR(
        out_.matrix(cat(to_, to, ".weight"), cat(from_, from, ".weight"), {rows, cols}));
    return bias(to, from, rows);
  }

  /// The width inside is what the checkpoint has.
  Status feed_forward(std::string_view suffix, std::string_view from) const {
    const std::string up = cat(from_, from, ".linear1.weight");
    RILL_ASSIGN_OR_RETURN(const TensorView view, out_.source.take_any(up, 2));
    const size_t inner = view.shape.dim(0);
    RILL_RETURN_IF_ERROR(linear(cat("ffn_up", suffix), cat(from, ".linear1"), inner, width_));
    return linear(cat("ffn_down", suffix), cat(from, ".linear2"), width_, inner);
  }

  Status attention() const {
    RILL_RETURN_IF_ERROR(linear("attn_q", "self_attn.linear_q", width_, width_));
    RILL_RETURN_IF_ERROR(linear("attn_k", "self_attn.linear_k", width_, width_));
    RILL_RETURN_IF_ERROR(linear("attn_v", "self_attn.linear_v", width_, width_));
    RILL_RETURN_IF_ERROR(linear("attn_out", "self_attn.linear_out", width_, width_));
    RILL_RETURN_IF_ERROR(out_.matrix(to_ + "linear_pos.weight",
                                     from_ + "self_attn.linear_pos.weight", {width_, width_}));
    const Shape heads = {heads_, width_ / heads_};
    for (const char* name : {"pos_bias_u", "pos_bias_v"}) {
      RILL_RETURN_IF_ERROR(
          out_.wide(to_ + name, cat(from_, "self_attn.", name), heads, kPosBiasNote));
    }
    return {};
  }

  Status conv_module() const {
    RILL_RETURN_IF_ERROR(pointwise("conv_pw1", "conv.pointwise_conv1", 2 * width_));
    const std::string taps = from_ + "conv.depthwise_conv.weight";
    RILL_ASSIGN_OR_RETURN(const TensorView view, out_.source.take_any(taps, 3));
    RILL_RETURN_IF_ERROR(
        out_.wide(to_ + "conv_dw.weight", taps, {width_, view.shape.dim(2)}, kConvNote));
    RILL_RETURN_IF_ERROR(bias("conv_dw", "conv.depthwise_conv", width_));
    RILL_RETURN_IF_ERROR(batch_norm());
    return pointwise("conv_pw2", "conv.pointwise_conv2", width_);
  }

  Status pointwise(std::string_view to, std::string_view from, size_t rows) const {
    RILL_RETURN_IF_ERROR(out_.wide(cat(to_, to, ".weight"), cat(from_, from, ".weight"),
                                   {rows, width_}, kPointwiseNote));
    return bias(to, from, rows);
  }

  /// scale = gamma / sqrt(variance + eps), shift = beta - mean * scale, in F32.
  Status batch_norm() const {
    const auto values = [&](std::string_view name) {
      return out_.source.take_values(cat(from_, "conv.batch_norm.", name), {width_});
    };
    RILL_ASSIGN_OR_RETURN(const std::vector<float> gamma, values("weight"));
    RILL_ASSIGN_OR_RETURN(const std::vector<float> beta, values("bias"));
    RILL_ASSIGN_OR_RETURN(const std::vector<float> mean, values("running_mean"));
    RILL_ASSIGN_OR_RETURN(const std::vector<float> variance, values("running_var"));
    std::vector<float> scale(width_);
    std::vector<float> shift(width_);
    for (size_t i = 0; i < width_; ++i) {
      scale[i] = gamma[i] / std::sqrt(variance[i] + kBatchNormEps);
      shift[i] = beta[i] - mean[i] * scale[i];
    }
    add_folded("conv_norm.weight", std::move(scale));
    add_folded("conv_norm.bias", std::move(shift));
    return {};
  }
  void add_folded(std::string_view to, std::vector<float> values) const {
    out_.tensors.push_back(
        {cat(to_, to), {width_}, DType::kF32, {}, std::move(values), "batch norm, folded"});
  }

  const PartWriter& out_;
  size_t width_;
  size_t heads_;
  std::string to_;
  std::string from_;
};

/// Convolutions 0, 2, 3, 5, 6 of the subsampling; biases are stored [C, 1, 1].
Status add_subsampling(const PartWriter& out, const AudioConfig& config) {
  const std::string from = "conformer.pre_encode.";
  RILL_ASSIGN_OR_RETURN(const TensorView first, out.source.take_any(from + "conv.0.weight", 4));
  const size_t C = first.shape.dim(0);
  for (const int index : {0, 2, 3, 5, 6}) {
    const bool pointwise = index == 3 || index == 6;
    const Shape shape = pointwise ? Shape{C, C, 1, 1} : Shape{C, 1, 3, 3};
    const std::string name = cat("conv.", index, ".");
    const std::string to = cat("a.conv1d.", index, ".");
    RILL_RETURN_IF_ERROR(out.wide(to + "weight", cat(from, name, "weight"), shape, kConvNote));
    RILL_RETURN_IF_ERROR(out.wide(to + "bias", cat(from, name, "bias"), {C, 1, 1}, kConvNote));
  }
  const size_t inputs = C * (config.num_mel_bins / 8);
  RILL_RETURN_IF_ERROR(
      out.matrix("a.pre_encode.out.weight", from + "out.weight", {config.encoder_width, inputs}));
  return out.vector("a.pre_encode.out.bias", from + "out.bias", config.encoder_width);
}

Status add_adapter(const PartWriter& out, const AudioConfig& config, size_t backbone_width) {
  const std::string from = "audio_adapter.model.";
  const size_t D = config.encoder_width;
  RILL_RETURN_IF_ERROR(out.vector("mm.a.mlp.0.weight", from + "0.weight", D));
  RILL_RETURN_IF_ERROR(out.vector("mm.a.mlp.0.bias", from + "0.bias", D));
  RILL_ASSIGN_OR_RETURN(const TensorView up, out.source.take_any(from + "1.weight", 2));
  const size_t inner = up.shape.dim(0);
  RILL_RETURN_IF_ERROR(out.matrix("mm.a.mlp.1.weight", from + "1.weight", {inner, D}));
  RILL_RETURN_IF_ERROR(out.vector("mm.a.mlp.1.bias", from + "1.bias", inner));
  RILL_RETURN_IF_ERROR(out.matrix("mm.a.mlp.3.weight", from + "3.weight", {backbone_width, inner}));
  return out.vector("mm.a.mlp.3.bias", from + "3.bias", backbone_width);
}

Status add_code_tables(const PartWriter& out, size_t backbone_width, Extent extent) {
  const std::string from = "audio_embedding.";
  RILL_ASSIGN_OR_RETURN(const TensorView table, out.source.take_any(from + "embedding.weight", 2));
  const Shape shape = {table.shape.dim(0), backbone_width};
  RILL_RETURN_IF_ERROR(
      out.wide("a.position_embd.weight", from + "embedding.weight", shape, kCodeTableNote));
  if (extent == Extent::kLean) return {};
  RILL_RETURN_IF_ERROR(
      out.vector("a.position_embd_norm.weight", from + "embedding_norm.weight", backbone_width));
  return out.matrix("a.embd_to_logits.weight", from + "to_logits.weight", shape);
}

}  // namespace

Status add_encoder_tensors(const AudioConfig& config, const model::lfm2::Config& backbone,
                           DType matrix, Extent extent, SourceTensors& source,
                           std::vector<OutputTensor>& tensors) {
  const PartWriter out{source, tensors, matrix};
  RILL_RETURN_IF_ERROR(add_subsampling(out, config));
  for (size_t i = 0; i < config.encoder_layers; ++i) {
    RILL_RETURN_IF_ERROR(LayerWriter(out, config, i).add_layer());
  }
  RILL_RETURN_IF_ERROR(add_adapter(out, config, backbone.hidden_size));
  return add_code_tables(out, backbone.hidden_size, extent);
}

void add_encoder_keys(const AudioConfig& config, const model::lfm2::Config& backbone,
                      format::Metadata& metadata) {
  const auto size = [&](const char* name, size_t value) {
    metadata.set(cat("clip.audio.", name), format::metadata_u32(static_cast<uint32_t>(value)));
  };
  metadata.set("general.architecture", format::metadata_string("clip"));
  metadata.set("clip.has_audio_encoder", format::metadata_bool(true));
  metadata.set("clip.projector_type", format::metadata_string("lfm2a"));
  size("projection_dim", backbone.hidden_size);
  size("embedding_length", config.encoder_width);
  // Published files hold the width here, not the size of the feed-forward.
  size("feed_forward_length", config.encoder_width);
  size("block_count", config.encoder_layers);
  size("attention.head_count", config.encoder_heads);
  size("num_mel_bins", config.num_mel_bins);
  metadata.set("clip.audio.attention.layer_norm_epsilon", format::metadata_f32(1e-5f));
}

bool is_training_tensor(std::string_view name) {
  return name == "codebook_offsets" || name == "audio_loss_weights" ||
         name.ends_with(".num_batches_tracked");
}

}  // namespace rill::convert
