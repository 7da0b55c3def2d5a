// SPDX-License-Identifier: Apache-2.0
// The two feed-forwards of a layer: SwiGLU, and a router over many small SwiGLUs.
#include <cstdint>
#include <cstring>

#include "model/lfm2/layer_pass.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/moe.h"

namespace rill::model::lfm2 {
namespace {

/// Rows that one expert works on, with their weights.
struct ExpertRows {
  std::span<size_t> rows;
  std::span<float> weights;
  size_t count = 0;
};

/// Collects the rows that chose an expert.
void collect(size_t expert, std::span<const int32_t> experts, ConstMat weights, ExpertRows& out) {
  out.count = 0;
  const size_t k = weights.cols;
  for (size_t t = 0; t < weights.rows; ++t) {
    for (size_t j = 0; j < k; ++j) {
      if (static_cast<size_t>(experts[t * k + j]) != expert) continue;
      out.rows[out.count] = t;
      out.weights[out.count++] = weights.row(t)[j];
    }
  }
}

/// out[row] = fma(weight, expert(x[row]), out[row]) for the rows that chose the expert.
Status add_expert(ops::Context& context, const FeedForwardWeights& w, const ExpertRows& chosen,
                  ConstMat x, Mat out) {
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat gathered, take_mat(context, chosen.count, x.cols));
  RILL_ASSIGN_OR_RETURN(const Mat y, take_mat(context, chosen.count, x.cols));
  for (size_t i = 0; i < chosen.count; ++i) {
    std::memcpy(gathered.row(i), x.row(chosen.rows[i]), x.cols * sizeof(float));
  }
  RILL_RETURN_IF_ERROR(feed_forward(context, w, gathered, y));
  for (size_t i = 0; i < chosen.count; ++i) {
    ops::add_scaled(context, y.row_range(i, 1), chosen.weights[i],
                    out.row_range(chosen.rows[i], 1));
  }
  return {};
}

/// One token: all its experts at once, so that threads join three times and not three times for
/// each expert. The sum runs over the experts in ascending order, as it does for many tokens.
Status add_experts_of_token(ops::Context& context, const SparseFeedForwardWeights& w,
                            std::span<const int32_t> experts, ConstMat weights, ConstMat x,
                            Mat out) {
  Arena::Scope scope(*context.scratch);
  const size_t k = experts.size();
  const size_t width = w.experts[0].w1.rows();
  RILL_ASSIGN_OR_RETURN(const Mat gate, take_mat(context, k, width));
  RILL_ASSIGN_OR_RETURN(const Mat up, take_mat(context, k, width));
  RILL_ASSIGN_OR_RETURN(const Mat y, take_mat(context, k, x.cols));
  RILL_ASSIGN_OR_RETURN(const std::span<ops::MatmulTarget> targets,
                        context.scratch->take<ops::MatmulTarget>(2 * k));
  RILL_ASSIGN_OR_RETURN(const std::span<const quant::PackedMatrix*> down,
                        context.scratch->take<const quant::PackedMatrix*>(k));
  for (size_t j = 0; j < k; ++j) {
    const FeedForwardWeights& expert = w.experts[static_cast<size_t>(experts[j])];
    targets[2 * j] = {&expert.w1, nullptr, gate.row_range(j, 1)};
    targets[2 * j + 1] = {&expert.w3, nullptr, up.row_range(j, 1)};
    down[j] = &expert.w2;
  }
  RILL_RETURN_IF_ERROR(ops::matmul(context, x, targets));
  ops::silu_mul(context, gate, up, gate);
  RILL_RETURN_IF_ERROR(ops::matmul_rows(context, gate, down, y));
  for (size_t j = 0; j < k; ++j)
    ops::add_scaled(context, y.row_range(j, 1), weights.row(0)[j], out);
  return {};
}

/// The trace takes floats only.
Status record_experts(LayerPass& pass, std::span<const int32_t> experts, ConstMat weights) {
  if (pass.trace == nullptr) return {};
  Arena::Scope scope(*pass.context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat ids, take_mat(pass.context, weights.rows, weights.cols));
  for (size_t i = 0; i < experts.size(); ++i) ids.data[i] = static_cast<float>(experts[i]);
  pass.record("experts", ids);
  pass.record("expert_weights", weights);
  return {};
}

}  // namespace

Status feed_forward(ops::Context& context, const FeedForwardWeights& w, ConstMat x, Mat out) {
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat gate, take_mat(context, x.rows, w.w1.rows()));
  RILL_ASSIGN_OR_RETURN(const Mat up, take_mat(context, x.rows, w.w3.rows()));
  RILL_RETURN_IF_ERROR(ops::matmul(context, x, {{&w.w1, nullptr, gate}, {&w.w3, nullptr, up}}));
  ops::silu_mul(context, gate, up, gate);
  return ops::matmul(context, gate, w.w2, nullptr, out);
}

Status sparse_feed_forward(LayerPass& pass, const SparseFeedForwardWeights& w, ConstMat x,
                           Mat out) {
  const size_t T = x.rows;
  const size_t k = pass.config.num_experts_per_tok;
  ops::Context& context = pass.context;
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat router_logits, take_mat(context, T, pass.config.num_experts));
  RILL_ASSIGN_OR_RETURN(const Mat weights, take_mat(context, T, k));
  RILL_ASSIGN_OR_RETURN(const std::span<int32_t> experts, context.scratch->take<int32_t>(T * k));
  RILL_RETURN_IF_ERROR(ops::matmul(context, x, w.gate, nullptr, router_logits));
  pass.record("router_logits", router_logits);
  const ops::RouterArgs args = {k, data_or_null(w.expert_bias), pass.config.norm_topk_prob,
                                pass.config.routed_scaling_factor};
  ops::route(context, router_logits, args, experts, weights);
  RILL_RETURN_IF_ERROR(record_experts(pass, experts, weights));

  for (size_t t = 0; t < T; ++t) std::memset(out.row(t), 0, out.cols * sizeof(float));
  if (T == 1) return add_experts_of_token(context, w, experts, weights, x, out);
  ExpertRows chosen;
  RILL_ASSIGN_OR_RETURN(chosen.rows, context.scratch->take<size_t>(T));
  RILL_ASSIGN_OR_RETURN(chosen.weights, context.scratch->take<float>(T));
  for (size_t e = 0; e < w.experts.size(); ++e) {
    collect(e, experts, weights, chosen);
    if (chosen.count > 0) RILL_RETURN_IF_ERROR(add_expert(context, w.experts[e], chosen, x, out));
  }
  return {};
}

}  // namespace rill::model::lfm2
