// SPDX-License-Identifier: Apache-2.0
// Routing of the sparse feed-forward: which experts each token uses, and with which weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace rill::ops {

/// The most experts that route takes; loaders refuse more.
inline constexpr size_t kMaxExperts = 1024;

struct RouterArgs {
  size_t experts_per_token = 0;        ///< k
  const float* expert_bias = nullptr;  ///< [E], steers the selection only; nullptr: none
  bool normalize = true;               ///< weights / (sum + 1e-6)
  float scaling_factor = 1.0f;
};

/// Sigmoid scores p; the k experts with the largest p + bias (ties: lower index), in ascending
/// expert order; weights p. A NaN score counts as the lowest. Shapes: logits [T, E] -> experts [T,
/// k], weights [T, k]; 0 < k <= E <= kMaxExperts. Source: transformers modeling_lfm2_moe,
/// Lfm2MoeSparseMoeBlock.route_tokens_to_experts.
void route(Context& context, ConstMat logits, const RouterArgs& args, std::span<int32_t> experts,
           Mat weights);

}  // namespace rill::ops
