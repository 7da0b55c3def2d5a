// SPDX-License-Identifier: Apache-2.0
#include "session/sequence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/str_cat.h"

namespace rill::session {

using model::lfm2::Backbone;
using model::lfm2::SequenceState;

Result<Sequence> Sequence::create(const Backbone& backbone, DType kv_type) {
  RILL_ASSIGN_OR_RETURN(SequenceState state, SequenceState::create(backbone.config(), kv_type));
  return Sequence(backbone, std::move(state));
}

Sequence::Sequence(const Backbone& backbone, SequenceState state)
    : backbone_(&backbone), state_(std::move(state)) {}

size_t Sequence::room() const {
  const size_t length = backbone_->config().context_length;
  return length > position() ? length - position() : 0;
}

Status Sequence::reserve(size_t steps) {
  return state_.reserve(position() + std::min(steps, room()));
}

Status Sequence::check(std::span<const StepInput> steps) const {
  const model::lfm2::Config& config = backbone_->config();
  if (steps.size() > room()) {
    return Error{ErrorCode::kContextFull,
                 cat("append to sequence: got ", steps.size(), " steps after ", position(),
                     ", expected at most ", config.context_length, " in all")};
  }
  for (const StepInput& step : steps) {
    if (step.is_token()) {
      if (step.token >= 0 && static_cast<size_t>(step.token) < config.vocab_size) continue;
      return Error{ErrorCode::kInvalidArgument,
                   cat("append to sequence: token id: got ", step.token, ", expected 0 to ",
                       config.vocab_size - 1)};
    }
    if (step.row.size() == config.hidden_size) continue;
    return Error{ErrorCode::kInvalidArgument,
                 cat("append to sequence: embedding row: got ", step.row.size(),
                     " values, expected ", config.hidden_size)};
  }
  return {};
}

Status Sequence::append(ops::Context& context, std::span<const StepInput> steps,
                        const std::atomic<bool>* cancel) {
  RILL_RETURN_IF_ERROR(check(steps));
  if (steps.empty()) return {};
  const size_t D = backbone_->config().hidden_size;
  const size_t max_rows = std::min(steps.size(), Backbone::kMaxPieceSteps);
  logits_ready_ = false;
  hidden_.resize(D);
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const std::span<float> memory, context.scratch->take<float>(max_rows * D));
  for (size_t first = 0; first < steps.size(); first += max_rows) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      return Error{ErrorCode::kCancelled, "append to sequence: cancelled"};
    }
    const Mat rows = {memory.data(), std::min(max_rows, steps.size() - first), D, D};
    for (size_t r = 0; r < rows.rows; ++r) {
      const StepInput& step = steps[first + r];
      if (step.is_token()) {
        RILL_RETURN_IF_ERROR(backbone_->embed(step.token, {rows.row(r), D}));
      } else {
        std::memcpy(rows.row(r), step.row.data(), D * sizeof(float));
      }
    }
    RILL_RETURN_IF_ERROR(backbone_->forward(context, rows, state_, rows));
    std::memcpy(hidden_.data(), rows.row(rows.rows - 1), D * sizeof(float));
  }
  return {};
}

Status Sequence::append_tokens(ops::Context& context, std::span<const int32_t> tokens,
                               const std::atomic<bool>* cancel) {
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const std::span<StepInput> steps,
                        context.scratch->take<StepInput>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) steps[i] = StepInput::of_token(tokens[i]);
  return append(context, steps, cancel);
}

Status Sequence::append_token(ops::Context& context, int32_t token) {
  const StepInput step = StepInput::of_token(token);
  return append(context, {&step, 1});
}

Result<std::span<const float>> Sequence::logits(ops::Context& context) {
  RILL_CHECK(!hidden_.empty(), "logits need at least one step");
  if (!logits_ready_) {
    const size_t V = backbone_->config().vocab_size;
    logits_.resize(V);
    const ConstMat hidden = {hidden_.data(), 1, hidden_.size(), hidden_.size()};
    RILL_RETURN_IF_ERROR(backbone_->logits(context, hidden, {logits_.data(), 1, V, V}));
    logits_ready_ = true;
  }
  return std::span<const float>(logits_);
}

Sequence Sequence::clone() const {
  Sequence copy(*backbone_, state_.clone());
  copy.hidden_ = hidden_;
  return copy;
}

Sequence::Mark Sequence::mark() const { return {state_.checkpoint(), hidden_}; }

void Sequence::truncate(const Mark& mark) {
  state_.truncate(mark.checkpoint);
  hidden_ = mark.hidden;
  logits_ready_ = false;
}

}  // namespace rill::session
