// SPDX-License-Identifier: Apache-2.0
#include "tasks/text_generation.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/det_math.h"
#include "base/str_cat.h"
#include "tasks/frame_picker.h"

namespace rill::tasks {
namespace {

using Clock = std::chrono::steady_clock;
using session::StepInput;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<StepInput> as_steps(std::span<const int32_t> tokens) {
  std::vector<StepInput> steps;
  steps.reserve(tokens.size());
  for (const int32_t token : tokens) steps.push_back(StepInput::of_token(token));
  return steps;
}

Status check_prompt(const TextModel& model, std::span<const int32_t> prompt) {
  if (prompt.empty())
    return Error{ErrorCode::kInvalidArgument, "prompt: got no tokens, expected at least one"};
  if (prompt.size() >= model.context_length()) {
    return Error{ErrorCode::kContextFull,
                 cat("prompt: got ", prompt.size(), " tokens, expected fewer than the ",
                     model.context_length(), " of the context")};
  }
  const size_t vocab_size = model.backbone().config().vocab_size;
  for (const int32_t token : prompt) {
    if (token < 0 || static_cast<size_t>(token) >= vocab_size) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("prompt: token id: got ", token, ", expected 0 to ", vocab_size - 1)};
    }
  }
  return {};
}

}  // namespace

Result<TextGeneration> TextGeneration::start(const TextModel& model, std::vector<int32_t> prompt,
                                             const TextOptions& options, const TextRun& run) {
  RILL_RETURN_IF_ERROR(check_prompt(model, prompt));
  RILL_RETURN_IF_ERROR(
      sampler_options(options, model.defaults(), 0, 0, model.backbone().config().vocab_size));
  TextGeneration generation;
  generation.model_ = &model;
  generation.options_ = options;
  generation.run_ = run;
  const size_t room = model.context_length() - prompt.size();
  generation.max_tokens_ = std::min(options.max_tokens.value_or(room), room);
  generation.usage_.prompt_tokens = prompt.size();
  generation.usage_.seed = options.seed ? *options.seed : random_seed();
  generation.prompt_ = std::move(prompt);
  return generation;
}

Status TextGeneration::prefill(ops::Context& context) {
  const auto start = Clock::now();
  const auto steps = as_steps(prompt_);
  session::PrefixCache no_cache(0);
  session::PrefixCache& cache = run_.cache != nullptr ? *run_.cache : no_cache;
  RILL_ASSIGN_OR_RETURN(auto sequence, cache.prefill(context, model_->backbone(), model_->kv_type(),
                                                     steps, run_.cancel));
  cache.keep(sequence);
  usage_.cached_tokens = cache.cached_steps();
  usage_.prefill_s = seconds_since(start);
  prefilled_ = std::make_unique<session::Sequence>(std::move(sequence));
  return {};
}

Status TextGeneration::begin_reply(ops::Context& context, size_t index,
                                   session::TokenConstraint* constraint) {
  if (prefilled_ == nullptr) RILL_RETURN_IF_ERROR(prefill(context));
  const bool is_last = index + 1 >= options_.n;
  sequence_ =
      is_last ? std::move(prefilled_) : std::make_unique<session::Sequence>(prefilled_->clone());
  session::GenerateOptions generate;
  generate.max_tokens = max_tokens_;
  generate.stop_ids = options_.stop_ids;
  if (!options_.ignore_eos) {
    generate.stop_ids.insert(generate.stop_ids.end(), model_->end_ids().begin(),
                             model_->end_ids().end());
  }
  generate.cancel = run_.cancel;
  generate.prompt_lookup = options_.prompt_lookup;
  RILL_ASSIGN_OR_RETURN(generate.sampler,
                        sampler_options(options_, model_->defaults(), usage_.seed, index,
                                        model_->backbone().config().vocab_size));
  generator_ = std::make_unique<session::Generator>(*sequence_, std::move(generate));
  generator_->observe_prompt(prompt_);
  generator_->set_constraint(constraint);
  return {};
}

Result<std::optional<TokenLogprob>> TextGeneration::next(ops::Context& context) {
  const auto start = Clock::now();
  RILL_ASSIGN_OR_RETURN(const std::optional<int32_t> id, generator_->next(context));
  std::optional<TokenLogprob> token;
  if (id) {
    token.emplace();
    token->id = *id;
    RILL_RETURN_IF_ERROR(add_logprobs(context, *token));
    ++usage_.completion_tokens;
  }
  usage_.decode_s += seconds_since(start);
  return token;
}

Status TextGeneration::add_logprobs(ops::Context& context, TokenLogprob& token) {
  if (!options_.top_logprobs) return {};
  // Still those that the token was picked from: it is not in the sequence yet.
  RILL_ASSIGN_OR_RETURN(const auto logits, sequence_->logits(context));
  token = token_logprob(logits, token.id, *options_.top_logprobs);
  return {};
}

void TextGeneration::end_reply() {
  if (run_.cache == nullptr || sequence_ == nullptr) return;
  if (sequence_->usable() && sequence_->position() > prompt_.size()) run_.cache->keep(*sequence_);
}

TokenLogprob token_logprob(std::span<const float> logits, int32_t id, size_t top) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits)
    sum += det::exp(static_cast<double>(logit) - static_cast<double>(largest));
  const double log_sum = static_cast<double>(largest) + det::log(sum);
  const auto logprob = [&](int32_t token) {
    return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(token)]) - log_sum);
  };
  TokenLogprob out;
  out.id = id;
  out.logprob = logprob(id);
  const size_t count = std::min(top, logits.size());
  if (count == 0) return out;
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  for (size_t i = 0; i < count; ++i) out.top.emplace_back(order[i], logprob(order[i]));
  return out;
}

Result<std::vector<TokenLogprob>> prompt_logprobs(ops::Context& context, const TextModel& model,
                                                  std::span<const int32_t> tokens, size_t top,
                                                  const std::atomic<bool>* cancel) {
  const model::lfm2::Backbone& backbone = model.backbone();
  const size_t D = backbone.config().hidden_size;
  const size_t V = backbone.config().vocab_size;
  constexpr size_t kPiece = 64;
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), model.kv_type()));
  std::vector<float> rows(kPiece * D);
  std::vector<float> logits(kPiece * V);
  std::vector<TokenLogprob> out;
  for (size_t first = 0; first + 1 < tokens.size(); first += kPiece) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
      return Error{ErrorCode::kCancelled, "log-probabilities of the prompt: cancelled"};
    const size_t count = std::min(kPiece, tokens.size() - 1 - first);
    for (size_t r = 0; r < count; ++r)
      RILL_RETURN_IF_ERROR(backbone.embed(tokens[first + r], {rows.data() + r * D, D}));
    const Mat hidden = {rows.data(), count, D, D};
    RILL_RETURN_IF_ERROR(backbone.forward(context, hidden, state, hidden));
    RILL_RETURN_IF_ERROR(backbone.logits(context, hidden, {logits.data(), count, V, V}));
    for (size_t r = 0; r < count; ++r)
      out.push_back(token_logprob({logits.data() + r * V, V}, tokens[first + r + 1], top));
  }
  return out;
}

}  // namespace rill::tasks
