// SPDX-License-Identifier: Apache-2.0
// Sequence: steps that are computed before it is known whether they are wanted. One pass over the
// weights serves the token and the guesses after it; every row has the bits that it would have had
// alone, so a guess that comes true is the step itself, and one that does not leaves no trace.
#include <algorithm>
#include <utility>

#include "session/sequence.h"

namespace rill::session {

using model::lfm2::Backbone;

Status Sequence::append_token_ahead(ops::Context& context, int32_t token,
                                    std::span<const int32_t> guesses) {
  const size_t room_after = room() > 0 ? room() - 1 : 0;
  const size_t count = std::min({guesses.size(), room_after, Backbone::kMaxPieceSteps - 1});
  const StepInput step = StepInput::of_token(token);
  RILL_RETURN_IF_ERROR(check({&step, 1}));
  ahead_.clear();
  ahead_.tokens.assign(guesses.begin(), guesses.begin() + static_cast<std::ptrdiff_t>(count));
  if (count == 0) return append(context, {&step, 1});
  const size_t start = position();
  if (look_ahead(context, token)) {
    state_.go_to(start + 1);
    record({&step, 1}, {ahead_.hidden.data(), hidden_size()});
    return {};
  }
  // A guess may be what failed; the token alone may well succeed.
  state_.go_to(start);
  ahead_.clear();
  return append(context, {&step, 1});
}

/// The steps of the token and of the guesses; the state must be taken back to one of them.
Status Sequence::look_ahead(ops::Context& context, int32_t token) {
  const size_t D = hidden_size();
  const size_t num_rows = 1 + ahead_.tokens.size();
  state_.log_conv(num_rows);
  ahead_.hidden.resize(num_rows * D);
  const Mat rows = {ahead_.hidden.data(), num_rows, D, D};
  RILL_RETURN_IF_ERROR(backbone_->embed(token, {rows.row(0), D}));
  for (size_t i = 0; i < ahead_.tokens.size(); ++i)
    RILL_RETURN_IF_ERROR(backbone_->embed(ahead_.tokens[i], {rows.row(i + 1), D}));
  return backbone_->forward(context, rows, state_, rows);
}

void Sequence::take_guess() {
  const StepInput step = StepInput::of_token(ahead_.tokens[ahead_.taken]);
  ++ahead_.taken;
  state_.go_to(position() + 1);
  record({&step, 1}, {ahead_.hidden.data() + ahead_.taken * hidden_size(), hidden_size()});
}

/// The logits of the last step out of those of all guesses, which are computed together. If they
/// cannot be had, those of the last step alone still may.
void Sequence::logits_ahead(ops::Context& context) {
  if (ahead_.tokens.empty()) return;
  const size_t D = hidden_size();
  const size_t V = backbone_->config().vocab_size;
  const size_t num_rows = 1 + ahead_.tokens.size();
  if (ahead_.logits.empty()) {
    ahead_.logits.resize(num_rows * V);
    if (!backbone_->logits(context, {ahead_.hidden.data(), num_rows, D, D},
                           {ahead_.logits.data(), num_rows, V, V})) {
      ahead_.clear();
      return;
    }
  }
  const float* row = ahead_.logits.data() + ahead_.taken * V;
  logits_.assign(row, row + V);
  logits_ready_ = true;
}

}  // namespace rill::session
