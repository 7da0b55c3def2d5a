// SPDX-License-Identifier: Apache-2.0
// TextGeneration: from a prompt's tokens to the tokens of its replies, with the prefix cache, the
// context's limit and log-probabilities. Tokens only; what they spell is for the tasks above.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/generator.h"
#include "session/prefix_cache.h"
#include "session/sequence.h"
#include "session/token_constraint.h"
#include "tasks/text_model.h"
#include "tasks/text_options.h"
#include "tasks/token_text.h"

namespace rill::tasks {

/// What a run is embedded in.
struct TextRun {
  session::PrefixCache* cache = nullptr;      ///< may be null
  const std::atomic<bool>* cancel = nullptr;  ///< may be null
};

/// Tokens and time of a request.
struct TextUsage {
  size_t prompt_tokens = 0;
  size_t cached_tokens = 0;      ///< of the prompt, that did not have to be computed
  size_t completion_tokens = 0;  ///< of all replies, end ids not counted
  size_t reasoning_tokens = 0;   ///< of them, inside reasoning
  double prefill_s = 0;
  double decode_s = 0;
  uint64_t seed = 0;
};

/// Replies to one prompt, one after the other. Threading: one thread. Lifetime: model and cache
/// outlive it.
class TextGeneration {
 public:
  /// Nothing is computed yet. Errors: kInvalidArgument (options, a token id, no tokens),
  /// kContextFull (the prompt leaves no room for a reply).
  static Result<TextGeneration> start(const TextModel& model, std::vector<int32_t> prompt,
                                      const TextOptions& options, const TextRun& run);

  /// Begins reply number `index`; the first call computes the prompt. Errors: those of
  /// PrefixCache::prefill; kCancelled if that was cancelled.
  Status begin_reply(ops::Context& context, size_t index, session::TokenConstraint* constraint);

  /// The reply's next token, or nothing at its end. Errors: those of Generator::next.
  Result<std::optional<TokenLogprob>> next(ops::Context& context);

  /// Why the reply ended.
  [[nodiscard]] session::StopReason stop_reason() const { return generator_->stop_reason(); }
  /// Keeps the reply's state for a prompt that continues it.
  void end_reply();

  [[nodiscard]] std::span<const int32_t> prompt() const { return prompt_; }
  [[nodiscard]] const TextUsage& usage() const { return usage_; }
  TextUsage& usage() { return usage_; }
  /// Of the current reply, or of the last one; null before the first.
  [[nodiscard]] const session::Sequence* sequence() const { return sequence_.get(); }

 private:
  TextGeneration() = default;
  Status prefill(ops::Context& context);
  Status add_logprobs(ops::Context& context, TokenLogprob& token);

  const TextModel* model_ = nullptr;
  std::vector<int32_t> prompt_;
  TextOptions options_;
  TextRun run_;
  size_t max_tokens_ = 0;
  TextUsage usage_;
  std::unique_ptr<session::Sequence> prefilled_;  // kept while more replies are to come
  std::unique_ptr<session::Sequence> sequence_;   // of the current reply
  std::unique_ptr<session::Generator> generator_;
};

/// The log-probability of a token, and of the `top` most likely ones.
TokenLogprob token_logprob(std::span<const float> logits, int32_t id, size_t top);

/// Log-probabilities of every token of a text but the first, which has none.
/// Errors: those of Backbone::forward and logits; kCancelled.
Result<std::vector<TokenLogprob>> prompt_logprobs(ops::Context& context, const TextModel& model,
                                                  std::span<const int32_t> tokens, size_t top,
                                                  const std::atomic<bool>* cancel);

}  // namespace rill::tasks
