// SPDX-License-Identifier: Apache-2.0
#include "session/generator.h"

#include <algorithm>
#include <utility>

namespace rill::session {

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kStopToken:
      return "stop_token";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kContextFull:
      return "context_full";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "none";
}

Generator::Generator(Sequence& sequence, GenerateOptions options)
    : sequence_(sequence),
      options_(std::move(options)),
      sampler_(options_.sampler),
      lookup_(options_.prompt_lookup) {}

void Generator::observe_prompt(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    sampler_.observe_prompt(token);
    if (options_.prompt_lookup > 0) lookup_.observe(token);
  }
}

bool Generator::is_stop_id(int32_t token) const {
  const std::vector<int32_t>& ids = options_.stop_ids;
  return std::find(ids.begin(), ids.end(), token) != ids.end();
}

Result<int32_t> Generator::pick(std::span<const float> logits) {
  if (constraint_ == nullptr) return sampler_.pick(logits);
  allowed_.resize((logits.size() + 63) / 64);
  RILL_RETURN_IF_ERROR(constraint_->allowed(allowed_));
  RILL_ASSIGN_OR_RETURN(const int32_t token, sampler_.pick(logits, allowed_));
  // A stop id ends the reply; the constraint has nothing more to say.
  if (!is_stop_id(token)) RILL_RETURN_IF_ERROR(constraint_->accept(token));
  return token;
}

bool Generator::prepare() {
  if (stop_reason_ != StopReason::kNone) return false;
  if (num_tokens_ >= options_.max_tokens) {
    stop_reason_ = StopReason::kMaxTokens;
  } else if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
    stop_reason_ = StopReason::kCancelled;
  } else if (pending_ >= 0 && sequence_.room() == 0) {
    stop_reason_ = StopReason::kContextFull;
  }
  return stop_reason_ == StopReason::kNone;
}

Result<std::optional<int32_t>> Generator::choose(ops::Context& context) {
  RILL_ASSIGN_OR_RETURN(const std::span<const float> logits, sequence_.logits(context));
  RILL_ASSIGN_OR_RETURN(const int32_t token, pick(logits));
  if (is_stop_id(token)) {
    stop_id_ = token;
    stop_reason_ = StopReason::kStopToken;
    return std::optional<int32_t>();
  }
  sampler_.observe_reply(token);
  if (options_.prompt_lookup > 0) lookup_.observe(token);
  pending_ = token;
  ++num_tokens_;
  return std::optional<int32_t>(token);
}

Result<std::optional<int32_t>> Generator::next(ops::Context& context) {
  if (!prepare()) return std::optional<int32_t>();
  if (pending_ >= 0) {
    RILL_RETURN_IF_ERROR(append_pending(context));
    pending_appended();
  }
  return choose(context);
}

Status Generator::append_pending(ops::Context& context) {
  const bool guessed = options_.prompt_lookup > 0 && sequence_.guess_is(pending_);
  if (guessed) ++num_guessed_;
  if (options_.prompt_lookup == 0 || guessed) return sequence_.append_token(context, pending_);
  lookup_.report(sequence_.num_guesses(), sequence_.guesses_taken());
  const size_t useful = options_.max_tokens - num_tokens_;
  const std::span<const int32_t> guesses = lookup_.guess();
  return sequence_.append_token_ahead(context, pending_,
                                      guesses.first(std::min(guesses.size(), useful)));
}

Status Generator::resume(const GenerationState& state) {
  RILL_RETURN_IF_ERROR(sampler_.restore(state.sampler));
  pending_ = state.pending;
  num_tokens_ = state.num_tokens;
  stop_reason_ = StopReason::kNone;
  return {};
}

Result<Reply> generate(ops::Context& context, Sequence& sequence, const GenerateOptions& options,
                       std::span<const int32_t> prompt) {
  Generator generator(sequence, options);
  generator.observe_prompt(prompt);
  Reply reply;
  while (true) {
    RILL_ASSIGN_OR_RETURN(const std::optional<int32_t> token, generator.next(context));
    if (!token) break;
    reply.tokens.push_back(*token);
  }
  reply.stop_reason = generator.stop_reason();
  reply.num_guessed = generator.num_guessed();
  return reply;
}

}  // namespace rill::session
