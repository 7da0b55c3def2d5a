// SPDX-License-Identifier: Apache-2.0
#include "session/sequence.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/str_cat.h"
#include "ops/elementwise.h"

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
  const size_t positions = position() + std::min(steps, room());
  block_contents_.reserve(positions / ops::kKvBlockPositions);
  return state_.reserve(positions);
}

Status Sequence::check_usable(const char* action) const {
  if (usable_) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat(action,
                   ": got a sequence whose last append failed or was cancelled, expected it "
                   "to be truncated or reset first")};
}

Status Sequence::check(std::span<const StepInput> steps) const {
  const model::lfm2::Config& config = backbone_->config();
  RILL_RETURN_IF_ERROR(check_usable("append to sequence"));
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
  for (size_t first = 0; first < steps.size(); first += Backbone::kMaxPieceSteps) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      usable_ = first == 0;
      return Error{ErrorCode::kCancelled, "append to sequence: cancelled"};
    }
    const size_t count = std::min(Backbone::kMaxPieceSteps, steps.size() - first);
    const Extension piece = {this, steps.subspan(first, count)};
    RILL_RETURN_IF_ERROR(append_together(context, {&piece, 1}));
  }
  return {};
}

Status Sequence::embed(std::span<const StepInput> steps, Mat rows) const {
  for (size_t r = 0; r < rows.rows; ++r) {
    const StepInput& step = steps[r];
    if (step.is_token()) {
      RILL_RETURN_IF_ERROR(backbone_->embed(step.token, {rows.row(r), rows.cols}));
    } else {
      std::memcpy(rows.row(r), step.row.data(), rows.cols * sizeof(float));
    }
  }
  return {};
}

/// Takes note of steps that the state has made.
void Sequence::record(std::span<const StepInput> steps, std::span<const float> hidden) {
  logits_ready_ = false;
  hidden_.assign(hidden.begin(), hidden.end());
  size_t at = position() - steps.size();
  for (const StepInput& step : steps) {
    content_ = extend_content(content_, step);
    if (++at % ops::kKvBlockPositions == 0) block_contents_.push_back(content_);
  }
}

Status Sequence::append_together(ops::Context& context, std::span<const Extension> extensions) {
  size_t num_rows = 0;
  for (const Extension& extension : extensions) {
    RILL_RETURN_IF_ERROR(extension.sequence->check(extension.steps));
    num_rows += extension.steps.size();
  }
  if (num_rows == 0) return {};
  RILL_CHECK(num_rows <= Backbone::kMaxPieceSteps, "append together: one piece");
  const Backbone& backbone = *extensions[0].sequence->backbone_;
  const size_t D = backbone.config().hidden_size;
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const std::span<float> memory, context.scratch->take<float>(num_rows * D));
  RILL_ASSIGN_OR_RETURN(const std::span<model::lfm2::Segment> segments,
                        context.scratch->take<model::lfm2::Segment>(extensions.size()));
  const Mat rows = {memory.data(), num_rows, D, D};
  size_t row = 0;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const Extension& extension = extensions[i];
    RILL_CHECK(extension.sequence->backbone_ == &backbone, "append together: one backbone");
    RILL_RETURN_IF_ERROR(
        extension.sequence->embed(extension.steps, rows.row_range(row, extension.steps.size())));
    segments[i] = {&extension.sequence->state_, extension.steps.size()};
    if (!extension.steps.empty()) extension.sequence->ahead_.clear();
    row += extension.steps.size();
  }
  const auto first = std::find_if(extensions.begin(), extensions.end(),
                                  [](const Extension& e) { return !e.steps.empty(); });
  const size_t first_position = first->sequence->position();
  const Status done = backbone.forward(context, rows, segments, rows);
  // All move on together, or none does.
  const bool moved = first->sequence->position() > first_position;
  row = 0;
  for (const Extension& extension : extensions) {
    if (extension.steps.empty()) continue;
    const Mat own = rows.row_range(row, extension.steps.size());
    row += extension.steps.size();
    Sequence& sequence = *extension.sequence;
    sequence.usable_ = moved && (done.has_value() || ops::all_finite(context, own));
    if (sequence.usable_) sequence.record(extension.steps, {own.row(own.rows - 1), D});
  }
  return done;
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
  if (guess_is(token)) {
    take_guess();
    return {};
  }
  const StepInput step = StepInput::of_token(token);
  return append(context, {&step, 1});
}

Result<std::span<const float>> Sequence::logits(ops::Context& context) {
  RILL_RETURN_IF_ERROR(check_usable("logits"));
  if (hidden_.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "logits: got a sequence without steps, expected at least one"};
  }
  if (!logits_ready_) logits_ahead(context);
  if (!logits_ready_) {
    const size_t V = backbone_->config().vocab_size;
    logits_.resize(V);
    const ConstMat hidden = {hidden_.data(), 1, hidden_.size(), hidden_.size()};
    RILL_RETURN_IF_ERROR(backbone_->logits(context, hidden, {logits_.data(), 1, V, V}));
    logits_ready_ = true;
  }
  return std::span<const float>(logits_);
}

Status Sequence::logits_together(ops::Context& context, std::span<Sequence* const> sequences) {
  if (sequences.empty()) return {};
  const Backbone& backbone = *sequences[0]->backbone_;
  const size_t D = backbone.config().hidden_size;
  const size_t V = backbone.config().vocab_size;
  Arena::Scope scope(*context.scratch);
  const size_t n = sequences.size();
  RILL_ASSIGN_OR_RETURN(const std::span<float> hidden, context.scratch->take<float>(n * D));
  RILL_ASSIGN_OR_RETURN(const std::span<float> memory, context.scratch->take<float>(n * V));
  const Mat logits = {memory.data(), n, V, V};
  for (size_t i = 0; i < n; ++i) {
    const Sequence& sequence = *sequences[i];
    RILL_RETURN_IF_ERROR(sequence.check_usable("logits"));
    RILL_CHECK(sequence.backbone_ == &backbone && !sequence.hidden_.empty(),
               "logits together: sequences of one backbone that have steps");
    std::copy(sequence.hidden_.begin(), sequence.hidden_.end(), hidden.data() + i * D);
  }
  const Status done = backbone.logits(context, {hidden.data(), n, D, D}, logits);
  if (!done && done.error().code != ErrorCode::kInternal) return done;
  for (size_t i = 0; i < n; ++i) {
    Sequence& sequence = *sequences[i];
    sequence.logits_ready_ = done.has_value() || ops::all_finite(context, logits.row_range(i, 1));
    sequence.logits_.assign(logits.row(i), logits.row(i) + V);
  }
  return done;
}

Sequence Sequence::clone() const {
  Sequence copy(*backbone_, state_.clone());
  copy.hidden_ = hidden_;
  copy.usable_ = usable_;
  copy.content_ = content_;
  copy.block_contents_ = block_contents_;
  copy.checkpoints_ = checkpoints_;
  return copy;
}

Sequence Sequence::assemble(const Backbone& backbone, Parts parts) {
  const size_t D = backbone.config().hidden_size;
  RILL_CHECK(parts.hidden.size() == (parts.state.position() > 0 ? D : 0), "assemble: hidden state");
  RILL_CHECK(parts.block_contents.size() == parts.state.position() / ops::kKvBlockPositions,
             "assemble: a hash for each full block");
  Sequence sequence(backbone, std::move(parts.state));
  sequence.hidden_ = std::move(parts.hidden);
  sequence.content_ = parts.content;
  sequence.block_contents_ = std::move(parts.block_contents);
  return sequence;
}

Sequence::Mark Sequence::mark() const {
  return {state_.checkpoint(), hidden_, content_,
          block_contents_.empty() ? ContentHash{} : block_contents_.back()};
}

Status Sequence::truncate(const Mark& mark) {
  const size_t to = mark.checkpoint.position;
  if (to > position()) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("truncate sequence: position: got ", to, ", expected at most ", position())};
  }
  const size_t blocks = to / ops::kKvBlockPositions;
  const bool same_steps = blocks <= block_contents_.size() &&
                          (blocks == 0 || block_contents_[blocks - 1] == mark.last_block) &&
                          (to < position() || !usable_ || content_ == mark.content);
  if (!state_.can_truncate(mark.checkpoint) || !same_steps) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("truncate sequence: mark at position ", to,
                     ": got one of another sequence, expected one of this sequence's past")};
  }
  drop_after(mark);
  return {};
}

void Sequence::drop_after(const Mark& mark) {
  ahead_.clear();
  state_.truncate(mark.checkpoint);
  hidden_ = mark.hidden;
  content_ = mark.content;
  block_contents_.resize(mark.checkpoint.position / ops::kKvBlockPositions);
  while (!checkpoints_.empty() &&
         checkpoints_.back().checkpoint.position > mark.checkpoint.position) {
    checkpoints_.pop_back();
  }
  logits_ready_ = false;
  usable_ = true;
}

Status Sequence::keep_checkpoint() {
  RILL_RETURN_IF_ERROR(check_usable("keep checkpoint"));
  if (position() == 0) return {};
  if (!checkpoints_.empty() && checkpoints_.back().checkpoint.position == position()) return {};
  checkpoints_.push_back(mark());
  return {};
}

std::vector<size_t> Sequence::checkpoints() const {
  std::vector<size_t> positions;
  for (const Mark& mark : checkpoints_) positions.push_back(mark.checkpoint.position);
  return positions;
}

Status Sequence::truncate_to(size_t to) {
  if (to == 0) {
    reset();
    return {};
  }
  if (to > position()) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("truncate sequence: position: got ", to, ", expected at most ", position())};
  }
  if (to == position() && usable_) return {};
  const auto found = std::find_if(checkpoints_.begin(), checkpoints_.end(),
                                  [&](const Mark& mark) { return mark.checkpoint.position == to; });
  if (found == checkpoints_.end()) {
    std::string places = "0";
    for (const Mark& mark : checkpoints_) places += cat(", ", mark.checkpoint.position);
    return Error{ErrorCode::kInvalidArgument, cat("truncate sequence: position: got ", to,
                                                  ", expected one with a checkpoint: ", places)};
  }
  const Mark mark = *found;
  drop_after(mark);
  return {};
}

void Sequence::reset() {
  ahead_.clear();
  state_.reset();
  hidden_.clear();
  content_ = {};
  block_contents_.clear();
  checkpoints_.clear();
  logits_ready_ = false;
  usable_ = true;
}

}  // namespace rill::session
