// SPDX-License-Identifier: Apache-2.0
// The request options of text chat and raw completion, with their defaults, ranges and refusals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "session/sampler.h"

namespace rill::tasks {

/// What a model's files say about sampling; requests start from it.
struct GenerationDefaults {
  float temperature = 0.3f;
  size_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.15f;
  float repetition_penalty = 1.05f;
};

/// Whether the model may reason before it answers.
struct Thinking {
  enum class Mode {
    kModel,   ///< as the model and its template do by themselves
    kOn,      ///< asks the template for it, where it knows a switch
    kOff,     ///< reasoning is closed as soon as it opens
    kBudget,  ///< reasoning is closed after budget_tokens
  };
  Mode mode = Mode::kModel;
  size_t budget_tokens = 0;
};

/// What the reply must follow; at most one.
struct ResponseRule {
  enum class Kind { kNone, kJsonObject, kJsonSchema, kRegex, kGrammar };
  Kind kind = Kind::kNone;
  std::string text;  ///< schema, expression or grammar; "" for kNone and kJsonObject
};

/// Options of both tasks; those that say "chat" belong to chat alone, "complete" likewise.
struct TextOptions {
  // Unset: the model's own.
  std::optional<float> temperature;
  std::optional<size_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> repetition_penalty;

  size_t repetition_window = 0;  ///< last tokens that the repetition penalty sees; 0: all
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::optional<uint64_t> seed;        ///< unset: random
  size_t n = 1;                        ///< replies to the same prompt, 1 to 128
  std::optional<size_t> max_tokens;    ///< of each reply; unset: what fits the context
  std::vector<std::string> stop;       ///< texts that end a reply and are no part of it
  std::vector<int32_t> stop_ids;       ///< ids that do, besides the model's own
  bool ignore_eos = false;             ///< the model's own end ids do not end the reply
  std::optional<size_t> top_logprobs;  ///< log-probabilities wanted, with so many alternatives
  ResponseRule response;
  size_t prompt_lookup = 0;               ///< tokens to draft from the prompt; 0: none
  Thinking thinking;                      ///< chat
  bool continue_final_message = false;    ///< chat: the reply goes on with the last message
  bool parse_tool_calls = true;           ///< chat: false leaves calls in the content
  std::string tool_choice = "auto";       ///< chat: auto, none, required, or a tool's name in JSON
  Json template_kwargs = Json::object();  ///< chat: switches of the template
  bool echo = false;                      ///< complete: the prompt comes first
};

/// Sets one option from text. "stop" adds a stop text each time it is set.
/// Errors: kInvalidArgument (an option that the task does not take, a bad value).
Status set_chat_option(std::string_view key, std::string_view value, TextOptions& options);
Status set_complete_option(std::string_view key, std::string_view value, TextOptions& options);

/// The sampler of reply number `stream`. Errors: those of validate_sampler_options.
Result<session::SamplerOptions> sampler_options(const TextOptions& options,
                                                const GenerationDefaults& defaults, uint64_t seed,
                                                uint64_t stream, size_t vocab_size);

}  // namespace rill::tasks
