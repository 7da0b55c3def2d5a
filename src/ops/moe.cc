// SPDX-License-Identifier: Apache-2.0
#include "ops/moe.h"

#include <array>
#include <limits>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

// Guards the division when every selected score is tiny; the reference's constant.
constexpr float kSumEpsilon = 1e-6f;

/// Marks the k experts with the largest p + bias, ties to the lower index.
void select_experts(std::span<const float> p, const RouterArgs& args,
                    std::array<bool, kMaxExperts>& selected) {
  for (size_t picked = 0; picked < args.experts_per_token; ++picked) {
    size_t best = p.size();
    float best_score = -std::numeric_limits<float>::infinity();
    for (size_t e = 0; e < p.size(); ++e) {
      if (selected[e]) continue;
      const float score = args.expert_bias == nullptr ? p[e] : p[e] + args.expert_bias[e];
      if (best == p.size() || score > best_score) {
        best = e;
        // A NaN would win every later comparison.
        best_score = score == score ? score : -std::numeric_limits<float>::infinity();
      }
    }
    selected[best] = true;
  }
}

void route_token(Context& context, const float* logits, size_t num_experts, const RouterArgs& args,
                 int32_t* experts, float* weights) {
  std::array<float, kMaxExperts> scores;
  std::array<bool, kMaxExperts> selected{};
  context.kernels->sigmoid(logits, num_experts, scores.data());
  select_experts({scores.data(), num_experts}, args, selected);
  float sum = 0.0f;
  size_t count = 0;
  for (size_t e = 0; e < num_experts; ++e) {
    if (!selected[e]) continue;
    experts[count] = static_cast<int32_t>(e);
    weights[count] = scores[e];
    sum = sum + scores[e];
    ++count;
  }
  for (size_t i = 0; i < count; ++i) {
    if (args.normalize) weights[i] = weights[i] / (sum + kSumEpsilon);
    weights[i] = weights[i] * args.scaling_factor;
  }
}

}  // namespace

void route(Context& context, ConstMat logits, const RouterArgs& args, std::span<int32_t> experts,
           Mat weights) {
  const size_t k = args.experts_per_token;
  RILL_CHECK(k > 0 && k <= logits.cols && logits.cols <= kMaxExperts, "route: number of experts");
  RILL_CHECK(experts.size() == logits.rows * k && weights.rows == logits.rows && weights.cols == k,
             "route: output shapes");
  parallel_ranges(context, logits.rows, logits.cols * (k + 1), kHeavyGrain,
                  [&](size_t begin, size_t end) {
                    for (size_t t = begin; t < end; ++t) {
                      route_token(context, logits.row(t), logits.cols, args, experts.data() + t * k,
                                  weights.row(t));
                    }
                  });
}

}  // namespace rill::ops
