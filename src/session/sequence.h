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
#include "session/content_hash.h"
#include "session/step_input.h"

namespace rill::session {

/// State and last outputs of one sequence; move-only, clone() copies.
class Sequence {
 public:
  /// kv_type: DType::kF32 or kF16. The backbone must outlive the sequence. Errors: kOutOfMemory.
  static Result<Sequence> create(const model::lfm2::Backbone& backbone, DType kv_type);

  /// Appends steps: a whole prompt, any piece of it, or one token. The cut changes no bit.
  /// Errors: kContextFull (nothing was appended), kInvalidArgument (a token id, a row's length, or
  /// a sequence that is not usable; nothing was appended),
  ///         kCancelled (cancel became true between pieces), kOutOfMemory, kInternal. After the
  ///         last three the sequence is not usable, unless nothing had been appended when it was
  ///         cancelled.
  Status append(ops::Context& context, std::span<const StepInput> steps,
                const std::atomic<bool>* cancel = nullptr);
  Status append_tokens(ops::Context& context, std::span<const int32_t> tokens,
                       const std::atomic<bool>* cancel = nullptr);
  Status append_token(ops::Context& context, int32_t token);
  /// Appends a token, and computes the steps of the guesses after it in the same pass: appending
  /// the first of them next costs nothing, then the second, and so on; any other append forgets
  /// them. Guesses that do not fit the context are left out. Changes no bit, only time.
  /// Errors: those of append_token.
  Status append_token_ahead(ops::Context& context, int32_t token, std::span<const int32_t> guesses);
  /// Guesses of the last append_token_ahead, those that have come true, and whether the token is
  /// the next one.
  [[nodiscard]] size_t num_guesses() const { return ahead_.tokens.size(); }
  [[nodiscard]] size_t guesses_taken() const { return ahead_.taken; }
  [[nodiscard]] bool guess_is(int32_t token) const {
    return usable_ && guesses_taken() < num_guesses() && ahead_.tokens[ahead_.taken] == token;
  }

  /// Steps for one of several sequences.
  struct Extension {
    Sequence* sequence = nullptr;
    std::span<const StepInput> steps;
  };
  /// Extends several different sequences of one backbone in one pass over the weights, by at most
  /// Backbone::kMaxPieceSteps steps in all. Each gets the bits that it would get alone.
  /// Errors: those of append. Refused steps of one sequence (kContextFull, kInvalidArgument) leave
  ///         all as they were; after other errors usable() tells which ones have been extended.
  static Status append_together(ops::Context& context, std::span<const Extension> extensions);
  /// Computes what logits() gives, for several sequences of one backbone in one pass over the head.
  /// Errors: those of logits; sequences after a faulty one are computed all the same.
  static Status logits_together(ops::Context& context, std::span<Sequence* const> sequences);

  /// False after a failed or cancelled append, until truncate, truncate_to or reset: what the state
  /// holds is then part of a step.
  [[nodiscard]] bool usable() const { return usable_; }
  /// Steps so far.
  [[nodiscard]] size_t position() const { return state_.position(); }
  /// Steps that still fit the context.
  [[nodiscard]] size_t room() const;
  /// Room for `steps` more steps without allocation while they are made. Errors: kOutOfMemory.
  Status reserve(size_t steps);

  /// Final-normed hidden state of the last step, [D]; empty before the first.
  [[nodiscard]] std::span<const float> hidden() const { return hidden_; }
  /// Logits of the last step, [V], computed on first use.
  /// Errors: kInvalidArgument (no step yet, or not usable), kOutOfMemory, kInternal. Lifetime:
  /// until the next append.
  Result<std::span<const float>> logits(ops::Context& context);

  /// What the steps so far were, as a hash.
  [[nodiscard]] const ContentHash& content() const { return content_; }
  /// The same after each full block of ops::kKvBlockPositions steps.
  [[nodiscard]] std::span<const ContentHash> block_contents() const { return block_contents_; }

  /// A copy that continues on its own; keys and values are shared until one of the two writes them.
  [[nodiscard]] Sequence clone() const;
  [[nodiscard]] const model::lfm2::Backbone& backbone() const { return *backbone_; }
  [[nodiscard]] model::lfm2::SequenceState& state() { return state_; }
  [[nodiscard]] const model::lfm2::SequenceState& state() const { return state_; }

  /// A place to return to, with the last step's hidden state.
  struct Mark {
    model::lfm2::Checkpoint checkpoint;
    std::vector<float> hidden;
    ContentHash content = {};
    ContentHash last_block = {};  // content after the last full block before it
  };
  [[nodiscard]] Mark mark() const;
  /// Errors: kInvalidArgument (a mark beyond the position, of another model or of other steps).
  Status truncate(const Mark& mark);

  /// Keeps a mark of the current position inside the sequence, for truncate_to.
  /// Errors: kInvalidArgument (not usable).
  Status keep_checkpoint();
  /// Positions that truncate_to can return to, besides 0 and the current one; ascending.
  [[nodiscard]] std::vector<size_t> checkpoints() const;
  /// Goes back to a position. The short convolutions cannot be unwound, so it must be 0, the
  /// current one, or one where keep_checkpoint was called; later checkpoints are dropped. Errors:
  /// kInvalidArgument (beyond the position, or no checkpoint there), naming both.
  Status truncate_to(size_t position);
  /// Empties the sequence and gives its memory back; it can then be used for something else.
  void reset();

  /// A sequence from the parts that a snapshot holds; their sizes must fit the backbone.
  /// hidden is empty exactly at position 0; block_contents has an entry for each full block.
  struct Parts {
    model::lfm2::SequenceState state;
    std::vector<float> hidden;
    ContentHash content = {};
    std::vector<ContentHash> block_contents;
  };
  static Sequence assemble(const model::lfm2::Backbone& backbone, Parts parts);

 private:
  Sequence(const model::lfm2::Backbone& backbone, model::lfm2::SequenceState state);
  [[nodiscard]] Status check_usable(const char* action) const;
  Status check(std::span<const StepInput> steps) const;
  Status embed(std::span<const StepInput> steps, Mat rows) const;
  void record(std::span<const StepInput> steps, std::span<const float> hidden);
  void drop_after(const Mark& mark);
  [[nodiscard]] size_t hidden_size() const { return backbone_->config().hidden_size; }
  Status look_ahead(ops::Context& context, int32_t token);
  void take_guess();
  void logits_ahead(ops::Context& context);

  const model::lfm2::Backbone* backbone_;
  model::lfm2::SequenceState state_;
  std::vector<float> hidden_;
  std::vector<float> logits_;
  bool logits_ready_ = false;
  bool usable_ = true;
  ContentHash content_ = {};
  std::vector<ContentHash> block_contents_;
  std::vector<Mark> checkpoints_;  // ascending positions

  /// Steps that have been computed for guesses; row 0 is the step before the first of them.
  struct Ahead {
    std::vector<int32_t> tokens;
    size_t taken = 0;           // guesses that came true
    std::vector<float> hidden;  // [1 + guesses, D]
    std::vector<float> logits;  // [1 + guesses, V], or empty until they are asked for
    void clear() {
      tokens.clear();
      taken = 0;
      logits.clear();
    }
  };
  Ahead ahead_;
};

}  // namespace rill::session
