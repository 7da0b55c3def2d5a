// SPDX-License-Identifier: Apache-2.0
#include "tasks/text_options.h"

#include <cmath>
#include <limits>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "tasks/option_values.h"

namespace rill::tasks {
namespace {

constexpr size_t kMaxChoices = 128;
constexpr size_t kMaxTopLogprobs = 1000;
constexpr size_t kMaxStops = 256;

using Key = std::string_view;
using Value = std::string_view;

Result<float> parse_number(Key key, Value value, double least, double most,
                           std::string_view expected) {
  const auto number = parse_double(value);
  if (!number || *number < least || *number > most) return bad_option_value(key, value, expected);
  return static_cast<float>(*number);
}

Status set_temperature(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.temperature, parse_number(key, value, 0, 100, "0 to 100"));
  return {};
}

Status set_top_k(Key key, Value value, TextOptions& options) {
  // Clients of other engines ask for all candidates with -1.
  if (value == "-1") value = "0";
  RILL_ASSIGN_OR_RETURN(options.top_k, parse_count(key, value, 0));
  return {};
}

Status set_top_p(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.top_p, parse_number(key, value, 0, 1, "above 0, at most 1"));
  if (*options.top_p == 0) return bad_option_value(key, value, "above 0, at most 1");
  return {};
}

Status set_min_p(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.min_p, parse_number(key, value, 0, 1, "0 to 1"));
  return {};
}

Status set_repetition_penalty(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.repetition_penalty,
                        parse_number(key, value, 0, 100, "above 0, at most 100"));
  if (*options.repetition_penalty == 0) return bad_option_value(key, value, "above 0, at most 100");
  return {};
}

Status set_repetition_window(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.repetition_window, parse_count(key, value, 0));
  return {};
}

Status set_presence_penalty(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.presence_penalty,
                        parse_number(key, value, -100, 100, "-100 to 100"));
  return {};
}

Status set_frequency_penalty(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.frequency_penalty,
                        parse_number(key, value, -100, 100, "-100 to 100"));
  return {};
}

Status set_logit_bias(Key key, Value value, TextOptions& options) {
  constexpr std::string_view kExpected =
      "a JSON object from token ids to numbers, or to false, which bans the token";
  const auto parsed = parse_json(value);
  if (!parsed || !parsed->is_object()) return bad_option_value(key, value, kExpected);
  options.logit_bias.clear();
  for (const auto& [id, bias] : parsed->members()) {
    const auto token = parse_int(id);
    const bool bans = bias.is_bool() && !bias.as_bool();
    if (!token || *token < 0 || *token > std::numeric_limits<int32_t>::max() ||
        !(bans || (bias.is_number() && std::fabs(bias.as_double()) <= 1e6))) {
      return bad_option_value(key, value, kExpected);
    }
    options.logit_bias.emplace_back(
        static_cast<int32_t>(*token),
        bans ? -std::numeric_limits<float>::infinity() : static_cast<float>(bias.as_double()));
  }
  return {};
}

Status set_seed(Key key, Value value, TextOptions& options) {
  if (value == "-1") {
    options.seed.reset();
    return {};
  }
  RILL_ASSIGN_OR_RETURN(options.seed, parse_seed(key, value));
  return {};
}

Status set_n(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.n, parse_count(key, value, 1));
  if (options.n > kMaxChoices) return bad_option_value(key, value, cat("1 to ", kMaxChoices));
  return {};
}

Status set_max_tokens(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.max_tokens, parse_count(key, value, 0));
  return {};
}

Status set_stop(Key key, Value value, TextOptions& options) {
  // Many clients send an empty text for "none".
  if (value.empty()) return {};
  if (options.stop.size() >= kMaxStops) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("request option ", key, ": got more than ", kMaxStops, " texts")};
  }
  options.stop.emplace_back(value);
  return {};
}

Status set_stop_ids(Key key, Value value, TextOptions& options) {
  options.stop_ids.clear();
  while (!value.empty()) {
    const size_t comma = value.find(',');
    const auto id = parse_uint(value.substr(0, comma));
    if (!id || *id > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
      return bad_option_value(key, value, "token ids with commas between");
    }
    options.stop_ids.push_back(static_cast<int32_t>(*id));
    value = comma == Value::npos ? Value() : value.substr(comma + 1);
  }
  return {};
}

Status set_ignore_eos(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.ignore_eos, parse_flag(key, value));
  return {};
}

Status set_top_logprobs(Key key, Value value, TextOptions& options) {
  if (value == "none") {
    options.top_logprobs.reset();
    return {};
  }
  RILL_ASSIGN_OR_RETURN(options.top_logprobs, parse_count(key, value, 0));
  if (*options.top_logprobs > kMaxTopLogprobs)
    return bad_option_value(key, value, cat("0 to ", kMaxTopLogprobs, ", or none"));
  return {};
}

Status set_prompt_lookup(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.prompt_lookup, parse_count(key, value, 0));
  return {};
}

Status set_rule(Key key, Value value, ResponseRule::Kind kind, TextOptions& options) {
  if (value.empty()) return bad_option_value(key, value, "a text that is not empty");
  options.response = {kind, std::string(value)};
  return {};
}

Status set_json_schema(Key key, Value value, TextOptions& options) {
  return set_rule(key, value, ResponseRule::Kind::kJsonSchema, options);
}

Status set_regex(Key key, Value value, TextOptions& options) {
  return set_rule(key, value, ResponseRule::Kind::kRegex, options);
}

Status set_grammar(Key key, Value value, TextOptions& options) {
  return set_rule(key, value, ResponseRule::Kind::kGrammar, options);
}

Status set_response_format(Key key, Value value, TextOptions& options) {
  if (value == "text") {
    options.response = {};
  } else if (value == "json_object") {
    options.response = {ResponseRule::Kind::kJsonObject, ""};
  } else {
    return bad_option_value(key, value, "text or json_object; a schema goes into json_schema");
  }
  return {};
}

Status set_thinking(Key key, Value value, TextOptions& options) {
  if (value == "auto") {
    options.thinking = {};
  } else if (value == "on") {
    options.thinking = {Thinking::Mode::kOn, 0};
  } else if (value == "off") {
    options.thinking = {Thinking::Mode::kOff, 0};
  } else {
    const auto budget = parse_uint(value);
    if (!budget || *budget > 1'000'000'000)
      return bad_option_value(key, value, "auto, on, off or a number of tokens");
    options.thinking = {Thinking::Mode::kBudget, static_cast<size_t>(*budget)};
  }
  return {};
}

Status set_continue(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.continue_final_message, parse_flag(key, value));
  return {};
}

Status set_parse_tool_calls(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.parse_tool_calls, parse_flag(key, value));
  return {};
}

Status set_tool_choice(Key key, Value value, TextOptions& options) {
  if (value.empty()) return bad_option_value(key, value, "auto, none, required or a tool's name");
  options.tool_choice = std::string(value);
  return {};
}

Status set_template_kwargs(Key key, Value value, TextOptions& options) {
  auto parsed = parse_json(value);
  if (!parsed || !parsed->is_object()) return bad_option_value(key, value, "a JSON object");
  options.template_kwargs = std::move(parsed).value();
  return {};
}

Status set_echo(Key key, Value value, TextOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.echo, parse_flag(key, value));
  return {};
}

enum class Taker { kBoth, kChat, kComplete };

struct Option {
  std::string_view key;
  Status (*set)(Key key, Value value, TextOptions& options);
  Taker taker = Taker::kBoth;
};

constexpr Option kOptions[] = {
    {"temperature", set_temperature},
    {"top_k", set_top_k},
    {"top_p", set_top_p},
    {"min_p", set_min_p},
    {"repetition_penalty", set_repetition_penalty},
    {"repeat_penalty", set_repetition_penalty},
    {"repetition_window", set_repetition_window},
    {"presence_penalty", set_presence_penalty},
    {"frequency_penalty", set_frequency_penalty},
    {"logit_bias", set_logit_bias},
    {"seed", set_seed},
    {"n", set_n},
    {"max_tokens", set_max_tokens},
    {"stop", set_stop},
    {"stop_ids", set_stop_ids},
    {"ignore_eos", set_ignore_eos},
    {"top_logprobs", set_top_logprobs},
    {"prompt_lookup", set_prompt_lookup},
    {"json_schema", set_json_schema},
    {"regex", set_regex},
    {"grammar", set_grammar},
    {"response_format", set_response_format},
    {"thinking", set_thinking, Taker::kChat},
    {"continue_final_message", set_continue, Taker::kChat},
    {"parse_tool_calls", set_parse_tool_calls, Taker::kChat},
    {"tool_choice", set_tool_choice, Taker::kChat},
    {"chat_template_kwargs", set_template_kwargs, Taker::kChat},
    {"echo", set_echo, Taker::kComplete},
};

Status set_option(std::string_view task, Taker taker, Key key, Value value, TextOptions& options) {
  for (const Option& option : kOptions) {
    if (option.key == key && (option.taker == Taker::kBoth || option.taker == taker))
      return option.set(key, value, options);
  }
  return Error{ErrorCode::kInvalidArgument,
               cat("text ", task, " does not take request option ", printable(key))};
}

}  // namespace

Status set_chat_option(std::string_view key, std::string_view value, TextOptions& options) {
  return set_option("chat", Taker::kChat, key, value, options);
}

Status set_complete_option(std::string_view key, std::string_view value, TextOptions& options) {
  return set_option("completion", Taker::kComplete, key, value, options);
}

Result<session::SamplerOptions> sampler_options(const TextOptions& options,
                                                const GenerationDefaults& defaults, uint64_t seed,
                                                uint64_t stream, size_t vocab_size) {
  session::SamplerOptions sampler;
  sampler.temperature = options.temperature.value_or(defaults.temperature);
  sampler.top_k = options.top_k.value_or(defaults.top_k);
  sampler.top_p = options.top_p.value_or(defaults.top_p);
  sampler.min_p = options.min_p.value_or(defaults.min_p);
  sampler.repetition_penalty = options.repetition_penalty.value_or(defaults.repetition_penalty);
  sampler.repetition_window = options.repetition_window;
  sampler.presence_penalty = options.presence_penalty;
  sampler.frequency_penalty = options.frequency_penalty;
  sampler.logit_bias = options.logit_bias;
  sampler.seed = seed;
  sampler.stream = stream;
  RILL_RETURN_IF_ERROR(session::validate_sampler_options(sampler, vocab_size));
  return sampler;
}

}  // namespace rill::tasks
