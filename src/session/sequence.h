// SPDX-License-Identifier: Apache-2.0
// Sequence: a growing sequence of steps on a backbone, with the hidden state and the logits of its
// last step.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/lfm2/backbone.h"
#include "ops/context.h"
#include "session/step_input.h"

namespace rill::session {

/// State and last outputs of one sequence; move-only, clone() copies.
class Sequence {
 public:
  /// kv_type: DType::kF32 or kF16. The backbone must outlive the sequence. Errors: kOutOfMemory.
  static Result<Sequence> create(const model::lfm2::Backbone& backbone, DType kv_type);

  /// Appends steps: a whole prompt, any piece of it, or one token. The cut changes no bit.
  /// Errors: kContextFull (nothing was appended), kInvalidArgument (a token id or a row's length;
  /// nothing was appended),
  ///         kCancelled (cancel became true between pieces), kOutOfMemory, kInternal. After the
  ///         last three the sequence is unusable until it is truncated to a checkpoint.
  Status append(ops::Context& context, std::span<const StepInput> steps,
                const std::atomic<bool>* cancel = nullptr);
  Status append_tokens(ops::Context& context, std::span<const int32_t> tokens,
                       const std::atomic<bool>* cancel = nullptr);
  Status append_token(ops::Context& context, int32_t token);

  /// Steps so far.
  [[nodiscard]] size_t position() const { return state_.position(); }
  /// Steps that still fit the context.
  [[nodiscard]] size_t room() const;
  /// Room for `steps` more steps without allocation while they are made. Errors: kOutOfMemory.
  Status reserve(size_t steps);

  /// Final-normed hidden state of the last step, [D]; empty before the first.
  [[nodiscard]] std::span<const float> hidden() const { return hidden_; }
  /// Logits of the last step, [V], computed on first use. Needs at least one step.
  /// Errors: kOutOfMemory, kInternal. Lifetime: until the next append.
  Result<std::span<const float>> logits(ops::Context& context);

  [[nodiscard]] Sequence clone() const;
  [[nodiscard]] const model::lfm2::Backbone& backbone() const { return *backbone_; }
  [[nodiscard]] model::lfm2::SequenceState& state() { return state_; }
  [[nodiscard]] const model::lfm2::SequenceState& state() const { return state_; }

  /// A place to return to, with the last step's hidden state.
  struct Mark {
    model::lfm2::Checkpoint checkpoint;
    std::vector<float> hidden;
  };
  [[nodiscard]] Mark mark() const;
  void truncate(const Mark& mark);

 private:
  Sequence(const model::lfm2::Backbone& backbone, model::lfm2::SequenceState state);
  Status check(std::span<const StepInput> steps) const;

  const model::lfm2::Backbone* backbone_;
  model::lfm2::SequenceState state_;
  std::vector<float> hidden_;
  std::vector<float> logits_;
  bool logits_ready_ = false;
};

}  // namespace rill::session
