// SPDX-License-Identifier: Apache-2.0
#include "model/conformer/weights.h"

#include <string>

#include "base/str_cat.h"

namespace rill::model::conformer {
namespace {

Status load_linear(const WeightReader& reader, const std::string& name, const Shape& stored,
                   Linear& out) {
  RILL_ASSIGN_OR_RETURN(out.weight, reader.matrix(name + ".weight", stored));
  RILL_ASSIGN_OR_RETURN(out.bias, reader.values(name + ".bias", {stored.dim(0)}));
  return {};
}

Status load_norm(const WeightReader& reader, const std::string& name, size_t size, Norm& out) {
  RILL_ASSIGN_OR_RETURN(out.weight, reader.values(name + ".weight", {size}));
  RILL_ASSIGN_OR_RETURN(out.bias, reader.values(name + ".bias", {size}));
  return {};
}

Status load_depthwise(const WeightReader& reader, const std::string& name, const Shape& stored,
                      DepthwiseConv& out) {
  RILL_ASSIGN_OR_RETURN(out.weight, reader.values(name + ".weight", stored));
  RILL_ASSIGN_OR_RETURN(out.bias, reader.values(name + ".bias", {stored.dim(0)}));
  return {};
}

Status load_subsampling(const WeightReader& reader, const Config& config, SubsamplingWeights& out) {
  const size_t c = config.subsampling_channels;
  const Shape taps = {c, 1, 3, 3};
  const Shape pointwise = {c, c, 1, 1};
  const size_t flat = c * num_steps(config.num_mel_bins);
  RILL_RETURN_IF_ERROR(load_linear(reader, "a.conv1d.0", taps, out.conv_0));
  RILL_RETURN_IF_ERROR(load_depthwise(reader, "a.conv1d.2", taps, out.conv_2));
  RILL_RETURN_IF_ERROR(load_linear(reader, "a.conv1d.3", pointwise, out.conv_3));
  RILL_RETURN_IF_ERROR(load_depthwise(reader, "a.conv1d.5", taps, out.conv_5));
  RILL_RETURN_IF_ERROR(load_linear(reader, "a.conv1d.6", pointwise, out.conv_6));
  return load_linear(reader, "a.pre_encode.out", {config.hidden_size, flat}, out.out);
}

/// A feed-forward; `suffix` tells the second one from the first.
Status load_feed_forward(const WeightReader& reader, const std::string& prefix,
                         const std::string& suffix, const Config& config, Norm& norm, Linear& up,
                         Linear& down) {
  const size_t hidden = config.hidden_size;
  const size_t inner = config.intermediate_size;
  RILL_RETURN_IF_ERROR(load_norm(reader, prefix + "ffn_norm" + suffix, hidden, norm));
  RILL_RETURN_IF_ERROR(load_linear(reader, prefix + "ffn_up" + suffix, {inner, hidden}, up));
  return load_linear(reader, prefix + "ffn_down" + suffix, {hidden, inner}, down);
}

Status load_attention(const WeightReader& reader, const std::string& prefix, const Config& config,
                      LayerWeights& out) {
  const size_t d = config.hidden_size;
  const Shape square = {d, d};
  const Shape heads = {config.num_heads, config.head_dim()};
  RILL_RETURN_IF_ERROR(load_norm(reader, prefix + "ln1", d, out.attn_norm));
  RILL_RETURN_IF_ERROR(load_linear(reader, prefix + "attn_q", square, out.attn_q));
  RILL_RETURN_IF_ERROR(load_linear(reader, prefix + "attn_k", square, out.attn_k));
  RILL_RETURN_IF_ERROR(load_linear(reader, prefix + "attn_v", square, out.attn_v));
  RILL_RETURN_IF_ERROR(load_linear(reader, prefix + "attn_out", square, out.attn_out));
  RILL_ASSIGN_OR_RETURN(out.linear_pos, reader.matrix(prefix + "linear_pos.weight", square));
  RILL_ASSIGN_OR_RETURN(out.pos_bias_u, reader.values(prefix + "pos_bias_u", heads));
  RILL_ASSIGN_OR_RETURN(out.pos_bias_v, reader.values(prefix + "pos_bias_v", heads));
  return {};
}

Status load_conv(const WeightReader& reader, const std::string& prefix, const Config& config,
                 LayerWeights& out) {
  const size_t d = config.hidden_size;
  RILL_RETURN_IF_ERROR(load_norm(reader, prefix + "norm_conv", d, out.conv_norm_in));
  RILL_RETURN_IF_ERROR(load_linear(reader, prefix + "conv_pw1", {2 * d, d}, out.conv_pw1));
  RILL_RETURN_IF_ERROR(
      load_depthwise(reader, prefix + "conv_dw", {d, config.conv_kernel}, out.conv_dw));
  RILL_RETURN_IF_ERROR(load_norm(reader, prefix + "conv_norm", d, out.conv_batch_norm));
  return load_linear(reader, prefix + "conv_pw2", {d, d}, out.conv_pw2);
}

Status load_layer(const WeightReader& reader, size_t index, const Config& config,
                  LayerWeights& out) {
  const std::string prefix = cat("a.blk.", index, ".");
  RILL_RETURN_IF_ERROR(
      load_feed_forward(reader, prefix, "", config, out.ff1_norm, out.ff1_up, out.ff1_down));
  RILL_RETURN_IF_ERROR(load_attention(reader, prefix, config, out));
  RILL_RETURN_IF_ERROR(load_conv(reader, prefix, config, out));
  RILL_RETURN_IF_ERROR(
      load_feed_forward(reader, prefix, "_1", config, out.ff2_norm, out.ff2_up, out.ff2_down));
  return load_norm(reader, prefix + "ln2", config.hidden_size, out.out_norm);
}

}  // namespace

Result<EncoderWeights> load_encoder_weights(const WeightReader& reader, const Config& config) {
  EncoderWeights weights;
  RILL_RETURN_IF_ERROR(load_subsampling(reader, config, weights.subsampling));
  weights.layers.resize(config.num_layers);
  for (size_t i = 0; i < config.num_layers; ++i) {
    RILL_RETURN_IF_ERROR(load_layer(reader, i, config, weights.layers[i]));
  }
  return weights;
}

Result<AdapterWeights> load_adapter_weights(const WeightReader& reader, const Config& config) {
  AdapterWeights weights;
  const size_t inner = config.adapter_size;
  RILL_RETURN_IF_ERROR(load_norm(reader, "mm.a.mlp.0", config.hidden_size, weights.norm));
  RILL_RETURN_IF_ERROR(load_linear(reader, "mm.a.mlp.1", {inner, config.hidden_size}, weights.up));
  RILL_RETURN_IF_ERROR(
      load_linear(reader, "mm.a.mlp.3", {config.projection_size, inner}, weights.down));
  return weights;
}

}  // namespace rill::model::conformer
