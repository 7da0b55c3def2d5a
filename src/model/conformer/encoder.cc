// SPDX-License-Identifier: Apache-2.0
#include "model/conformer/encoder.h"

#include <cmath>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/str_cat.h"
#include "model/conformer/positions.h"
#include "model/conformer/subsampling.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace rill::model::conformer {
namespace {

/// Activations that all layers share.
struct Buffers {
  Mat normed;     // [T, D]
  Mat wide;       // [T, max(I, 2D)]
  Mat q;          // [T, D]
  Mat k;          // [T, D]
  Mat v;          // [T, D]
  Mat pos_emb;    // [2T-1, D]
  Mat positions;  // [2T-1, D]  linear_pos(pos_emb)
};

Result<Mat> take_mat(ops::Context& context, size_t rows, size_t cols) {
  RILL_ASSIGN_OR_RETURN(const std::span<float> values, context.scratch->take<float>(rows * cols));
  return Mat{values.data(), rows, cols, cols};
}

Result<Buffers> take_buffers(ops::Context& context, const Config& config, size_t num_steps) {
  const size_t d = config.hidden_size;
  const size_t wide = config.intermediate_size > 2 * d ? config.intermediate_size : 2 * d;
  Buffers b;
  RILL_ASSIGN_OR_RETURN(b.normed, take_mat(context, num_steps, d));
  RILL_ASSIGN_OR_RETURN(b.wide, take_mat(context, num_steps, wide));
  RILL_ASSIGN_OR_RETURN(b.q, take_mat(context, num_steps, d));
  RILL_ASSIGN_OR_RETURN(b.k, take_mat(context, num_steps, d));
  RILL_ASSIGN_OR_RETURN(b.v, take_mat(context, num_steps, d));
  RILL_ASSIGN_OR_RETURN(b.pos_emb, take_mat(context, 2 * num_steps - 1, d));
  RILL_ASSIGN_OR_RETURN(b.positions, take_mat(context, 2 * num_steps - 1, d));
  return b;
}

Status apply(ops::Context& context, const Linear& linear, ConstMat x, Mat out) {
  return ops::matmul(context, x, linear.weight, linear.bias.data(), out);
}

/// A layer's modules. Each reads x and leaves its output, before any residual addition, in `out`.
struct Layer {
  ops::Context& context;
  const Config& config;
  const LayerWeights& weights;
  const Buffers& buffers;

  void normalize(const Norm& norm, ConstMat x, Mat out) const {
    ops::layer_norm(context, x, norm.weight.data(), norm.bias.data(), config.layer_norm_eps, out);
  }

  Status feed_forward(const Norm& norm, const Linear& up, const Linear& down, ConstMat x,
                      Mat out) const {
    const Mat inner = buffers.wide.col_range(0, config.intermediate_size);
    normalize(norm, x, buffers.normed);
    RILL_RETURN_IF_ERROR(apply(context, up, buffers.normed, inner));
    ops::silu(context, inner, inner);
    return apply(context, down, inner, out);
  }

  Status attention(ConstMat x, Mat out) const {
    const Buffers& b = buffers;
    normalize(weights.attn_norm, x, b.normed);
    RILL_RETURN_IF_ERROR(ops::matmul(context, b.normed,
                                     {{&weights.attn_q.weight, weights.attn_q.bias.data(), b.q},
                                      {&weights.attn_k.weight, weights.attn_k.bias.data(), b.k},
                                      {&weights.attn_v.weight, weights.attn_v.bias.data(), b.v}}));
    RILL_RETURN_IF_ERROR(ops::matmul(context, b.pos_emb, weights.linear_pos, nullptr, b.positions));
    const ops::RelPosAttentionArgs args = {
        .num_heads = config.num_heads,
        .scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim())),
        .bias_u = weights.pos_bias_u.data(),
        .bias_v = weights.pos_bias_v.data(),
    };
    RILL_RETURN_IF_ERROR(
        ops::rel_pos_attention(context, b.q, b.k, b.v, b.positions, args, b.normed));
    return apply(context, weights.attn_out, b.normed, out);
  }

  Status convolution(ConstMat x, Mat out) const {
    const Buffers& b = buffers;
    const Mat gated = b.wide.col_range(0, 2 * config.hidden_size);
    normalize(weights.conv_norm_in, x, b.normed);
    RILL_RETURN_IF_ERROR(apply(context, weights.conv_pw1, b.normed, gated));
    ops::glu(context, gated, b.normed);
    ops::depthwise_conv1d(context, b.normed, weights.conv_dw.weight.data(), config.conv_kernel,
                          weights.conv_dw.bias.data(), weights.conv_batch_norm.weight.data(),
                          weights.conv_batch_norm.bias.data(), b.k);
    ops::silu(context, b.k, b.k);
    return apply(context, weights.conv_pw2, b.k, out);
  }

  /// x -> the layer's output, in place. Source: ConformerLayer.forward.
  Status forward(size_t index, Mat x, const Trace* trace) const {
    const Mat out = buffers.q;  // free whenever a module ends
    const auto tap = [&](std::string_view suffix, ConstMat value) {
      if (trace != nullptr) (*trace)(cat("layer.", index, suffix), value);
    };
    RILL_RETURN_IF_ERROR(feed_forward(weights.ff1_norm, weights.ff1_up, weights.ff1_down, x, out));
    tap(".ff1", out);
    ops::add_scaled(context, out, 0.5f, x);
    RILL_RETURN_IF_ERROR(attention(x, out));
    tap(".attn", out);
    ops::add_scaled(context, out, 1.0f, x);
    RILL_RETURN_IF_ERROR(convolution(x, out));
    tap(".conv", out);
    ops::add_scaled(context, out, 1.0f, x);
    RILL_RETURN_IF_ERROR(feed_forward(weights.ff2_norm, weights.ff2_up, weights.ff2_down, x, out));
    ops::add_scaled(context, out, 0.5f, x);
    normalize(weights.out_norm, x, x);
    tap("", x);
    return {};
  }
};

}  // namespace

Result<Encoder> Encoder::load(const WeightReader& reader, const Config& config) {
  Encoder encoder;
  encoder.config_ = config;
  RILL_ASSIGN_OR_RETURN(encoder.weights_, load_encoder_weights(reader, config));
  return encoder;
}

Status Encoder::encode(ops::Context& base, ConstMat mel, Mat out, const Trace* trace) const {
  if (mel.cols != config_.num_mel_bins) {
    return Error{ErrorCode::kInvalidArgument, cat("encode speech: got features of ", mel.cols,
                                                  " mel bins, expected ", config_.num_mel_bins)};
  }
  RILL_CHECK(out.cols == config_.hidden_size, "encode: wrong width");
  RILL_CHECK(out.rows == num_steps(mel.rows), "encode: out needs num_steps(F) rows");
  if (out.rows == 0) return {};
  ops::Context context = base.for_rows(mel.rows);
  RILL_RETURN_IF_ERROR(subsample(context, weights_.subsampling, mel, out, trace));

  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Buffers buffers, take_buffers(context, config_, out.rows));
  relative_positions(buffers.pos_emb);
  if (trace != nullptr) (*trace)("pos_emb", buffers.pos_emb);
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const Layer layer = {context, config_, weights_.layers[i], buffers};
    RILL_RETURN_IF_ERROR(layer.forward(i, out, trace));
  }
  if (trace != nullptr) (*trace)("encoder", out);
  return {};
}

}  // namespace rill::model::conformer
