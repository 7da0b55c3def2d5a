// SPDX-License-Identifier: Apache-2.0
#include "verify/text_runs.h"

#include <cstring>

#include "ops/elementwise.h"
#include "session/sequence.h"

namespace rill::verify {
namespace {

using model::lfm2::Backbone;
using session::Sequence;

/// The last row's logits of a full recompute.
Result<std::vector<float>> recomputed_logits(ops::Context& context, const Backbone& backbone,
                                             std::span<const int32_t> ids) {
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), DType::kF32));
  RILL_ASSIGN_OR_RETURN(const Tensor logits, prompt_logits(context, backbone, ids, state, nullptr));
  const float* last = logits.mat().row(ids.size() - 1);
  return std::vector<float>(last, last + logits.cols());
}

}  // namespace

Result<Tensor> prompt_logits(ops::Context& context, const Backbone& backbone,
                             std::span<const int32_t> ids, model::lfm2::SequenceState& state,
                             const Trace* trace) {
  const size_t width = backbone.config().hidden_size;
  RILL_ASSIGN_OR_RETURN(Tensor hidden, Tensor::create(ids.size(), width));
  for (size_t t = 0; t < ids.size(); ++t) {
    RILL_RETURN_IF_ERROR(backbone.embed(ids[t], {hidden.mat().row(t), width}));
  }
  if (trace != nullptr) (*trace)("embed", hidden.mat());
  RILL_RETURN_IF_ERROR(backbone.forward(context, hidden.mat(), state, hidden.mat(), trace));
  RILL_ASSIGN_OR_RETURN(Tensor logits, Tensor::create(ids.size(), backbone.config().vocab_size));
  RILL_RETURN_IF_ERROR(backbone.logits(context, hidden.mat(), logits.mat()));
  if (trace != nullptr) {
    (*trace)("final_norm", hidden.mat());
    (*trace)("logits", logits.mat());
  }
  return logits;
}

Result<GreedyRun> run_greedy(ops::Context& context, const Backbone& backbone,
                             std::span<const int32_t> prompt, size_t count) {
  RILL_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(backbone, DType::kF32));
  RILL_RETURN_IF_ERROR(sequence.append_tokens(context, prompt));
  std::vector<int32_t> all(prompt.begin(), prompt.end());
  GreedyRun run;
  for (size_t i = 0; i < count; ++i) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(context));
    run.logits.insert(run.logits.end(), logits.begin(), logits.end());
    RILL_ASSIGN_OR_RETURN(const auto full, recomputed_logits(context, backbone, all));
    if (std::memcmp(full.data(), logits.data(), logits.size() * sizeof(float)) != 0)
      ++run.differs_from_recompute;
    const auto token = static_cast<int32_t>(ops::argmax(logits));
    run.tokens.push_back(token);
    all.push_back(token);
    if (i + 1 < count) RILL_RETURN_IF_ERROR(sequence.append_token(context, token));
  }
  return run;
}

}  // namespace rill::verify
