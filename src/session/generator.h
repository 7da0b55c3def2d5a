// SPDX-License-Identifier: Apache-2.0
// Generator: the decode loop, one token per call, from a prefilled sequence to a stop reason. Ids
// only, no strings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/prompt_lookup.h"
#include "session/sampler.h"
#include "session/sequence.h"
#include "session/token_constraint.h"

namespace rill::session {

/// Why a reply ended.
enum class StopReason {
  kNone,         ///< it has not ended
  kStopToken,    ///< a stop id came up (it is not part of the reply)
  kMaxTokens,    ///< max_tokens reached
  kContextFull,  ///< the context has no room for another step
  kCancelled,    ///< the cancel flag was set
};

/// "none", "stop_token", "max_tokens", "context_full", "cancelled".
[[nodiscard]] std::string_view stop_reason_name(StopReason reason);

struct GenerateOptions {
  size_t max_tokens = 512;                    ///< tokens of the reply at most
  std::vector<int32_t> stop_ids;              ///< ids that end the reply
  SamplerOptions sampler;                     ///< greedy by default
  const std::atomic<bool>* cancel = nullptr;  ///< checked before every step; may be null
  size_t prompt_lookup = 0;  ///< tokens to guess from the text so far, at most; 0: none
};

/// Where a reply that is being generated stands, for saving it.
struct GenerationState {
  SamplerHistory sampler;
  int32_t pending = -1;     ///< last token, which is not in the sequence yet; -1: none
  uint64_t num_tokens = 0;  ///< of the reply so far, the pending one included
};

/// One reply. The sequence must have at least one step (the prompt) and outlive the generator.
class Generator {
 public:
  Generator(Sequence& sequence, GenerateOptions options);

  /// Penalties and prompt lookup look at these too; without either it does nothing.
  void observe_prompt(std::span<const int32_t> tokens);

  /// From the next pick on, only tokens that the constraint allows come up; null: all again. May
  /// change between calls. Lifetime: the constraint outlives its use here.
  void set_constraint(TokenConstraint* constraint) { constraint_ = constraint; }

  /// The next token of the reply, or nothing when it has ended (stop_reason() says why). The token
  /// enters the sequence with the next call, so that no step is computed that nobody asked for.
  /// Errors: those of Sequence::append_token and Sequence::logits, Sampler::pick, and the
  /// constraint's.
  Result<std::optional<int32_t>> next(ops::Context& context);

  // The same in steps, for whoever runs the sequences of several replies together: prepare(), then
  // the pending token is appended to the sequence, pending_appended(), choose().

  /// Whether the reply goes on; it ends here when max_tokens, the cancel flag or the context says
  /// so.
  bool prepare();
  void pending_appended() { pending_ = -1; }
  /// Picks from the sequence's logits. Nothing when a stop id came up.
  /// Errors: those of Sequence::logits, Sampler::pick, and the constraint's.
  Result<std::optional<int32_t>> choose(ops::Context& context);

  [[nodiscard]] GenerationState state() const {
    return {sampler_.history(), pending_, num_tokens_};
  }
  /// Continues where another generator with the same options stood, on its sequence or a copy.
  /// A constraint is not part of it. Errors: those of Sampler::restore.
  Status resume(const GenerationState& state);

  [[nodiscard]] StopReason stop_reason() const { return stop_reason_; }
  /// The stop id that ended the reply (kStopToken), else -1.
  [[nodiscard]] int32_t stop_id() const { return stop_id_; }
  /// The last token, which is not in the sequence yet; -1: none.
  [[nodiscard]] int32_t pending() const { return pending_; }
  [[nodiscard]] size_t num_tokens() const { return num_tokens_; }
  /// Tokens that prompt lookup had guessed.
  [[nodiscard]] size_t num_guessed() const { return num_guessed_; }
  Sampler& sampler() { return sampler_; }

 private:
  Status append_pending(ops::Context& context);
  Result<int32_t> pick(std::span<const float> logits);
  [[nodiscard]] bool is_stop_id(int32_t token) const;

  Sequence& sequence_;
  GenerateOptions options_;
  Sampler sampler_;
  PromptLookup lookup_;
  TokenConstraint* constraint_ = nullptr;
  std::vector<uint64_t> allowed_;  // what the constraint said for the current pick
  size_t num_tokens_ = 0;
  size_t num_guessed_ = 0;
  int32_t pending_ = -1;
  int32_t stop_id_ = -1;
  StopReason stop_reason_ = StopReason::kNone;
};

/// A whole reply.
struct Reply {
  std::vector<int32_t> tokens;  ///< without the stop id
  StopReason stop_reason = StopReason::kNone;
  size_t num_guessed = 0;  ///< tokens that prompt lookup had guessed
};

/// Runs a Generator to its end. `prompt` is what Generator::observe_prompt is told.
/// Errors: those of Generator::next.
Result<Reply> generate(ops::Context& context, Sequence& sequence, const GenerateOptions& options,
                       std::span<const int32_t> prompt = {});

}  // namespace rill::session
