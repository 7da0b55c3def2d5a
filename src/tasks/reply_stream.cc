// SPDX-License-Identifier: Apache-2.0
#include "tasks/reply_stream.h"

#include <utility>

#include "session/philox.h"

namespace rill::tasks {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kToolCalls:
      return "tool_calls";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "";
}

std::string tool_call_id(uint64_t seed, size_t choice, size_t call) {
  // Streams that no sampler uses.
  constexpr uint32_t kStream = 0xFFFFFFFFu;
  const auto bits = session::philox4x32(
      {static_cast<uint32_t>(call), static_cast<uint32_t>(choice), kStream, kStream},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::string id = "call_";
  for (size_t i = 0; i < 24; ++i) id += kAlphabet[(bits[i / 6] >> (5 * (i % 6))) & 31u];
  return id;
}

Result<ReplyStream> ReplyStream::start(const TextModel& model, std::vector<int32_t> prompt,
                                       ReplySetup setup, const TextOptions& options,
                                       const TextRun& run) {
  ReplyStream stream;
  // A rule that cannot be made is refused before anything is computed.
  if (setup.rule != nullptr) {
    RILL_ASSIGN_OR_RETURN(stream.rule_, setup.rule->make());
  }
  RILL_ASSIGN_OR_RETURN(auto generation,
                        TextGeneration::start(model, std::move(prompt), options, run));
  stream.model_ = &model;
  stream.setup_ = std::move(setup);
  stream.options_ = options;
  stream.run_ = run;
  stream.generation_ = std::make_unique<TextGeneration>(std::move(generation));
  stream.result_.usage = stream.generation_->usage();
  return stream;
}

Status ReplyStream::begin_reply(ops::Context& context, ReplyEvent& event) {
  if (choice_ > 0 && setup_.rule != nullptr) {
    RILL_ASSIGN_OR_RETURN(rule_, setup_.rule->make());
  }
  gate_.reset();
  if (rule_ != nullptr || setup_.reasoning_budget) {
    ReasoningGate::Options gate;
    if (setup_.is_chat) {
      gate.open_id = model_->think_open_id();
      gate.close_id = model_->think_close_id();
    }
    gate.budget = setup_.reasoning_budget;
    gate.starts_open = setup_.parse.starts_in_reasoning;
    gate.vocab_size = model_->backbone().config().vocab_size;
    gate_ = std::make_unique<ReasoningGate>(gate, rule_.get());
  }
  RILL_RETURN_IF_ERROR(generation_->begin_reply(context, choice_, gate_.get()));
  text_ = std::make_unique<TokenText>(
      model_->tokenizer(), options_.stop,
      setup_.is_chat ? SpecialTokens::kShowMarkers : SpecialTokens::kHide);
  parser_ = std::make_unique<text::ReplyParser>(setup_.parse, setup_.tools);
  result_.choices.emplace_back();
  is_open_ = true;
  has_told_ = false;
  event.delta.content = setup_.echo;
  if (!setup_.echo_logprobs) return {};
  RILL_ASSIGN_OR_RETURN(event.logprobs,
                        prompt_logprobs(context, *model_, generation_->prompt(),
                                        options_.top_logprobs.value_or(0), run_.cancel));
  return {};
}

Result<std::optional<ReplyEvent>> ReplyStream::next(ops::Context& context) {
  if (!is_open_ && choice_ >= options_.n) return std::optional<ReplyEvent>();
  ReplyEvent event;
  event.choice = choice_;
  if (!is_open_) RILL_RETURN_IF_ERROR(begin_reply(context, event));
  while (event.finish == FinishReason::kNone && event.delta.empty() && event.logprobs.empty())
    RILL_RETURN_IF_ERROR(step(context, event));
  event.is_first = !has_told_;
  has_told_ = true;
  record(event);
  if (event.finish != FinishReason::kNone) {
    is_open_ = false;
    ++choice_;
    // Further replies would be cancelled as well.
    if (event.finish == FinishReason::kCancelled) choice_ = options_.n;
  }
  return std::optional<ReplyEvent>(std::move(event));
}

void ReplyStream::take(TokenText::Piece piece, ReplyEvent& event) {
  if (setup_.is_chat) {
    event.delta = parser_->push(piece.text);
  } else {
    event.delta.content += piece.text;
  }
  for (TokenLogprob& token : piece.tokens) event.logprobs.push_back(std::move(token));
}

Status ReplyStream::step(ops::Context& context, ReplyEvent& event) {
  RILL_ASSIGN_OR_RETURN(const std::optional<TokenLogprob> token, generation_->next(context));
  if (!token) {
    take(text_->finish(), event);
    end_reply(event);
    return {};
  }
  result_.choices.back().tokens.push_back(token->id);
  const bool was_reasoning = parser_->is_reasoning();
  take(text_->push(token->id, options_.top_logprobs ? &*token : nullptr), event);
  if (setup_.is_chat && (was_reasoning || parser_->is_reasoning()))
    ++generation_->usage().reasoning_tokens;
  if (text_->is_stopped()) end_reply(event);
  return {};
}

void ReplyStream::end_reply(ReplyEvent& event) {
  if (setup_.is_chat) {
    text::ReplyDelta rest = parser_->finish();
    event.delta.content += rest.content;
    event.delta.reasoning += rest.reasoning;
    for (text::ToolCallDelta& call : rest.tool_calls)
      event.delta.tool_calls.push_back(std::move(call));
  }
  const session::StopReason reason = generation_->stop_reason();
  event.finish = FinishReason::kStop;
  if (!text_->is_stopped()) {
    if (reason == session::StopReason::kMaxTokens || reason == session::StopReason::kContextFull)
      event.finish = FinishReason::kLength;
    if (reason == session::StopReason::kCancelled) event.finish = FinishReason::kCancelled;
  }
  generation_->end_reply();
}

/// Adds the event to the result; a reply that ended by itself after calling tools says so.
void ReplyStream::record(ReplyEvent& event) {
  ReplyChoice& choice = result_.choices.back();
  choice.reply.append(event.delta);
  if (event.finish == FinishReason::kStop && !choice.reply.tool_calls.empty())
    event.finish = FinishReason::kToolCalls;
  choice.logprobs.insert(choice.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
  choice.finish = event.finish;
  result_.usage = generation_->usage();
}

}  // namespace rill::tasks
