// SPDX-License-Identifier: Apache-2.0
// The forward pass of LFM2. Per layer:
//   x = x + operator(rms_norm(x, operator_norm))        operator: short convolution or attention
//   x = x + feed_forward(rms_norm(x, ffn_norm))         feed-forward: SwiGLU or sparse
//   (feed_forward.cc)
// and at the end hidden = rms_norm(x, embedding_norm). There is no positional term outside
// attention and no scale anywhere else. Sources: transformers modeling_lfm2, modeling_lfm2_moe.
#include "model/lfm2/backbone.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/str_cat.h"
#include "model/lfm2/layer_pass.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/rope.h"

namespace rill::model::lfm2 {
namespace {

/// [B | C | X] = in_proj(h);  u = B * X;  y = C * conv(u);  out_proj(y)
Status short_conv_operator(LayerPass& pass, const ConvWeights& w, size_t conv_index, ConstMat h,
                           Mat out) {
  const size_t T = h.rows;
  const size_t D = h.cols;
  ops::Context& context = pass.context;
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat bcx, take_mat(context, T, 3 * D));
  RILL_ASSIGN_OR_RETURN(const Mat y, take_mat(context, T, D));
  Mat u = {};
  Mat conv = {};
  if (pass.trace != nullptr) {
    RILL_ASSIGN_OR_RETURN(u, take_mat(context, T, D));
    RILL_ASSIGN_OR_RETURN(conv, take_mat(context, T, D));
  }
  RILL_RETURN_IF_ERROR(ops::matmul(context, h, w.in_proj, data_or_null(w.in_proj_bias), bcx));
  const ops::ShortConvArgs args = {w.conv.data(), data_or_null(w.conv_bias),
                                   pass.config.conv_L_cache};
  size_t row = 0;
  for (const Segment& segment : pass.segments) {
    const auto part = [&](Mat m) { return m.data == nullptr ? m : m.row_range(row, segment.rows); };
    const Mat inputs =
        pass.trace != nullptr ? part(u) : segment.state->conv_log(conv_index, segment.rows);
    RILL_RETURN_IF_ERROR(ops::short_conv(context, part(bcx), args, segment.state->conv(conv_index),
                                         part(y), inputs, part(conv)));
    row += segment.rows;
  }
  pass.record("conv_BCx", bcx);
  pass.record("conv_Bx", u);
  pass.record("conv_out", conv);
  return ops::matmul(context, y, w.out_proj, data_or_null(w.out_proj_bias), out);
}

/// q, k, v projections; RMSNorm of each head of q and k; RoPE on q and k; causal grouped-query
/// attention; out_proj.
Status attention_operator(LayerPass& pass, const AttentionWeights& w, size_t attention_index,
                          ConstMat h, Mat out) {
  const size_t T = h.rows;
  const Config& config = pass.config;
  ops::Context& context = pass.context;
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat q, take_mat(context, T, config.num_heads * config.head_dim));
  RILL_ASSIGN_OR_RETURN(const Mat k, take_mat(context, T, config.num_kv_heads * config.head_dim));
  RILL_ASSIGN_OR_RETURN(const Mat v, take_mat(context, T, config.num_kv_heads * config.head_dim));
  RILL_ASSIGN_OR_RETURN(const Mat mixed, take_mat(context, T, config.num_heads * config.head_dim));

  RILL_RETURN_IF_ERROR(ops::matmul(
      context, h, {{&w.q_proj, nullptr, q}, {&w.k_proj, nullptr, k}, {&w.v_proj, nullptr, v}}));
  ops::rms_norm_heads(context, q, config.num_heads, w.q_layernorm.data(), config.norm_eps, q);
  ops::rms_norm_heads(context, k, config.num_kv_heads, w.k_layernorm.data(), config.norm_eps, k);
  pass.record("q_normed", q);
  pass.record("k_normed", k);
  pass.record("v", v);
  ops::rope(context, ops::RopeLayout::kHalf, pass.cos_sin, config.num_heads, q);
  ops::rope(context, ops::RopeLayout::kHalf, pass.cos_sin, config.num_kv_heads, k);
  pass.record("q_roped", q);
  pass.record("k_roped", k);

  ops::AttentionArgs args;
  args.num_heads = config.num_heads;
  args.window = config.sliding_window;
  args.scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  size_t row = 0;
  for (const Segment& segment : pass.segments) {
    const ops::KvView kv = segment.state->kv(attention_index);
    args.first_position = segment.state->position();
    ops::store_kv(context, k.row_range(row, segment.rows), v.row_range(row, segment.rows),
                  args.first_position, kv);
    RILL_RETURN_IF_ERROR(ops::attention(context, q.row_range(row, segment.rows), kv, args,
                                        mixed.row_range(row, segment.rows)));
    row += segment.rows;
  }
  pass.record("attn_context", mixed);
  return ops::matmul(context, mixed, w.out_proj, nullptr, out);
}

/// One layer: x is the residual stream, changed in place. operator_index counts the layers of the
/// same kind before it.
Status run_layer(LayerPass& pass, const LayerWeights& w, size_t operator_index, Mat x) {
  ops::Context& context = pass.context;
  const float eps = pass.config.norm_eps;
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat normed, take_mat(context, x.rows, x.cols));
  RILL_ASSIGN_OR_RETURN(const Mat delta, take_mat(context, x.rows, x.cols));

  ops::rms_norm(context, x, w.operator_norm.data(), eps, normed);
  pass.record("operator_norm", normed);
  RILL_RETURN_IF_ERROR(w.conv
                           ? short_conv_operator(pass, *w.conv, operator_index, normed, delta)
                           : attention_operator(pass, *w.attention, operator_index, normed, delta));
  pass.record("operator_out", delta);
  ops::add_scaled(context, delta, 1.0f, x);
  pass.record("after_operator", x);

  ops::rms_norm(context, x, w.ffn_norm.data(), eps, normed);
  pass.record("ffn_norm", normed);
  RILL_RETURN_IF_ERROR(w.sparse ? sparse_feed_forward(pass, *w.sparse, normed, delta)
                                : feed_forward(context, *w.feed_forward, normed, delta));
  pass.record("ffn_out", delta);
  ops::add_scaled(context, delta, 1.0f, x);
  pass.record("after_ffn", x);
  return {};
}

void copy_rows(ConstMat from, Mat to) {
  for (size_t r = 0; r < from.rows; ++r)
    std::memcpy(to.row(r), from.row(r), from.cols * sizeof(float));
}

Error not_finite(const Config& config, const char* what) {
  return Error{ErrorCode::kInternal, cat("forward pass: ", config.source, ": ", what,
                                         " are not finite; the file may be damaged: run `rill "
                                         "verify` on it to find the first wrong layer")};
}

}  // namespace

Backbone::Backbone(Config config, Weights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  inv_freq_ = ops::rope_inv_freq(config_.head_dim, config_.rope_theta);
  fingerprint_ = lfm2::fingerprint(config_, weights_);
}

Status Backbone::embed(int32_t token, std::span<float> out) const {
  if (weights_.embed_tokens.rows() == 0) {
    return Error{ErrorCode::kUnsupported,
                 cat("embed: ", config_.source, ": this model has no token table")};
  }
  if (token < 0 || static_cast<size_t>(token) >= config_.vocab_size) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("embed: token id: got ", token, ", expected 0 to ", config_.vocab_size - 1)};
  }
  weights_.embed_tokens.read_row(static_cast<size_t>(token), out);
  return {};
}

Status Backbone::forward(ops::Context& context, ConstMat inputs, SequenceState& state, Mat hidden,
                         const Trace* trace) const {
  const Segment segment = {&state, inputs.rows};
  return forward(context, inputs, std::span<const Segment>(&segment, 1), hidden, trace);
}

Status Backbone::forward(ops::Context& context, ConstMat inputs, std::span<const Segment> segments,
                         Mat hidden, const Trace* trace) const {
  RILL_CHECK(inputs.cols == config_.hidden_size && hidden.cols == config_.hidden_size,
             "rows are hidden_size wide");
  RILL_CHECK(hidden.rows == inputs.rows, "one hidden row for each input row");
  size_t rows = 0;
  for (const Segment& segment : segments) {
    const size_t end = segment.state->position() + segment.rows;
    if (end > config_.context_length) {
      return Error{
          ErrorCode::kContextFull,
          cat("forward pass: got ", end, " positions, expected at most ", config_.context_length)};
    }
    RILL_RETURN_IF_ERROR(segment.state->reserve(end));
    rows += segment.rows;
  }
  RILL_CHECK(rows == inputs.rows, "the segments hold all rows");
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const std::span<Segment> piece,
                        context.scratch->take<Segment>(segments.size()));
  const size_t max_rows = trace == nullptr ? kMaxPieceSteps : rows;
  ops::Context piece_context = context.for_rows(rows);
  for (PieceCutter cutter(segments, piece, max_rows); cutter.next();) {
    RILL_RETURN_IF_ERROR(forward_piece(
        piece_context, inputs.row_range(cutter.first_row(), cutter.rows()), cutter.segments(),
        hidden.row_range(cutter.first_row(), cutter.rows()), trace));
  }
  return {};
}

Status Backbone::forward_piece(ops::Context& context, ConstMat inputs,
                               std::span<const Segment> segments, Mat hidden,
                               const Trace* trace) const {
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat x, take_mat(context, inputs.rows, inputs.cols));
  RILL_ASSIGN_OR_RETURN(const Mat cos_sin, take_mat(context, inputs.rows, config_.head_dim));
  copy_rows(inputs, x);
  size_t row = 0;
  for (const Segment& segment : segments) {
    ops::rope_table(inv_freq_, segment.state->position(), cos_sin.row_range(row, segment.rows));
    row += segment.rows;
  }
  LayerPass pass = {context, config_, segments, cos_sin, trace, 0};
  if (trace != nullptr) (*trace)("embed", x);

  size_t num_conv = 0;
  size_t num_attention = 0;
  for (size_t i = 0; i < config_.num_layers; ++i) {
    pass.layer = i;
    const size_t index = config_.is_attention(i) ? num_attention++ : num_conv++;
    RILL_RETURN_IF_ERROR(run_layer(pass, weights_.layers[i], index, x));
  }
  ops::rms_norm(context, x, weights_.embedding_norm.data(), config_.norm_eps, hidden);
  if (trace != nullptr) (*trace)("final_norm", hidden);
  for (const Segment& segment : segments) segment.state->advance(segment.rows);
  if (!ops::all_finite(context, hidden)) return not_finite(config_, "hidden states");
  return {};
}

Status Backbone::logits(ops::Context& context, ConstMat hidden, Mat out) const {
  if (weights_.embed_tokens.rows() == 0) {
    return Error{ErrorCode::kUnsupported,
                 cat("logits: ", config_.source, ": this model has no token table")};
  }
  const quant::PackedMatrix& head =
      config_.tie_embedding ? weights_.embed_tokens : weights_.lm_head;
  RILL_RETURN_IF_ERROR(ops::matmul(context, hidden, head, nullptr, out));
  if (!ops::all_finite(context, out)) return not_finite(config_, "logits");
  return {};
}

}  // namespace rill::model::lfm2
