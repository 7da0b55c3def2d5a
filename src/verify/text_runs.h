// SPDX-License-Identifier: Apache-2.0
// Running a text model on a prompt, and greedily on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/lfm2/backbone.h"
#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"

namespace rill::verify {

/// Logits [T, V] of a prompt, computed in one pass; stages go to `trace`, which may be null.
Result<Tensor> prompt_logits(ops::Context& context, const model::lfm2::Backbone& backbone,
                             std::span<const int32_t> ids, model::lfm2::SequenceState& state,
                             const Trace* trace);

struct GreedyRun {
  std::vector<int32_t> tokens;
  std::vector<float> logits;  ///< of every step, [steps, V]
  size_t differs_from_recompute =
      0;  ///< steps whose cached logits are not bit-equal to a full recompute
};

/// Cached greedy decoding of `count` tokens, each step checked against a full recompute.
Result<GreedyRun> run_greedy(ops::Context& context, const model::lfm2::Backbone& backbone,
                             std::span<const int32_t> prompt, size_t count);

}  // namespace rill::verify
