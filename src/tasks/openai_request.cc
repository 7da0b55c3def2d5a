// SPDX-License-Identifier: Apache-2.0
#include "tasks/openai_request.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/str_cat.h"

namespace rill::tasks {
namespace {

using SetOption = Status (*)(std::string_view key, std::string_view value, TextOptions& options);

Error wrong_field(std::string_view field, const Json& got, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument, cat("request field ", field, ": got ",
                                                printable(got.dump()), ", expected ", expected)};
}

/// A field that is an option of the same value under this or another name.
struct ScalarField {
  std::string_view field;
  std::string_view option;
  Json::Type type;
};

constexpr ScalarField kScalars[] = {
    {"temperature", "temperature", Json::Type::kDouble},
    {"top_p", "top_p", Json::Type::kDouble},
    {"min_p", "min_p", Json::Type::kDouble},
    {"top_k", "top_k", Json::Type::kInt},
    {"repetition_penalty", "repetition_penalty", Json::Type::kDouble},
    {"repeat_penalty", "repetition_penalty", Json::Type::kDouble},
    {"presence_penalty", "presence_penalty", Json::Type::kDouble},
    {"frequency_penalty", "frequency_penalty", Json::Type::kDouble},
    {"seed", "seed", Json::Type::kInt},
    {"n", "n", Json::Type::kInt},
    {"max_tokens", "max_tokens", Json::Type::kInt},
    {"max_completion_tokens", "max_tokens", Json::Type::kInt},
    {"prompt_lookup", "prompt_lookup", Json::Type::kInt},
    {"ignore_eos", "ignore_eos", Json::Type::kBool},
    {"logit_bias", "logit_bias", Json::Type::kObject},
    {"regex", "regex", Json::Type::kString},
    {"grammar", "grammar", Json::Type::kString},
    {"json_schema", "json_schema", Json::Type::kObject},
};

constexpr ScalarField kChatScalars[] = {
    {"chat_template_kwargs", "chat_template_kwargs", Json::Type::kObject},
    {"continue_final_message", "continue_final_message", Json::Type::kBool},
    {"reasoning_budget", "thinking", Json::Type::kInt},
};

constexpr ScalarField kCompleteScalars[] = {{"echo", "echo", Json::Type::kBool}};

/// Fields that change nothing about the reply here.
constexpr std::string_view kIgnored[] = {"user",
                                         "metadata",
                                         "store",
                                         "service_tier",
                                         "safety_identifier",
                                         "prompt_cache_key",
                                         "parallel_tool_calls",
                                         "verbosity",
                                         "cache_prompt",
                                         "id_slot",
                                         "reasoning_format",
                                         "timings_per_token",
                                         "add_generation_prompt"};
constexpr std::string_view kTransport[] = {"model",    "stream", "stream_options",
                                           "messages", "tools",  "prompt"};

bool has_type(const Json& value, Json::Type type) {
  if (type == Json::Type::kDouble) return value.is_number();
  return value.type() == type;
}

std::string_view type_name(Json::Type type) {
  switch (type) {
    case Json::Type::kBool:
      return "true or false";
    case Json::Type::kInt:
      return "an integer";
    case Json::Type::kDouble:
      return "a number";
    case Json::Type::kObject:
      return "an object";
    default:
      return "a string";
  }
}

std::string option_text(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump();
}

template <size_t N>
bool set_scalar(const ScalarField (&fields)[N], std::string_view field, const Json& value,
                SetOption set, TextOptions& options, Status& status) {
  for (const ScalarField& known : fields) {
    if (known.field != field) continue;
    if (!has_type(value, known.type)) {
      status = wrong_field(field, value, type_name(known.type));
    } else if (known.option == "thinking" && value.as_int() < 0) {
      status = set("thinking", "auto", options);
    } else {
      status = set(known.option, option_text(value), options);
    }
    return true;
  }
  return false;
}

Status set_stops(const Json& value, SetOption set, TextOptions& options) {
  if (value.is_string()) return set("stop", value.as_string(), options);
  if (!value.is_array()) return wrong_field("stop", value, "a string or an array of strings");
  for (const Json& stop : value.items()) {
    if (!stop.is_string()) return wrong_field("stop", value, "a string or an array of strings");
    RILL_RETURN_IF_ERROR(set("stop", stop.as_string(), options));
  }
  return {};
}

Status set_stop_ids(const Json& value, SetOption set, TextOptions& options) {
  if (!value.is_array()) return wrong_field("stop_token_ids", value, "an array of token ids");
  std::string list;
  for (const Json& id : value.items()) {
    if (!id.is_int()) return wrong_field("stop_token_ids", value, "an array of token ids");
    list += cat(list.empty() ? "" : ",", id.as_int());
  }
  return set("stop_ids", list, options);
}

Status set_response_format(const Json& value, SetOption set, TextOptions& options) {
  const Json* type = value.find("type");
  if (type == nullptr || !type->is_string())
    return wrong_field("response_format", value, "an object with a type");
  if (type->as_string() != "json_schema") return set("response_format", type->as_string(), options);
  const Json* wrapped = value.find("json_schema");
  const Json* schema = wrapped != nullptr ? wrapped->find("schema") : nullptr;
  if (schema == nullptr) schema = value.find("schema");
  if (schema == nullptr || !(schema->is_object() || schema->is_bool()))
    return wrong_field("response_format.json_schema.schema", value, "a schema");
  return set("json_schema", schema->dump(), options);
}

Status set_tool_choice(const Json& value, SetOption set, TextOptions& options) {
  if (value.is_string()) return set("tool_choice", value.as_string(), options);
  const Json* function = value.find("function");
  const Json* name = function != nullptr ? function->find("name") : nullptr;
  if (name == nullptr || !name->is_string())
    return wrong_field("tool_choice", value, "auto, none, required, or a function by its name");
  // A name that is a word of the option's stays a name.
  return set("tool_choice", "function:" + name->as_string(), options);
}

Status set_reasoning_effort(const Json& value, SetOption set, TextOptions& options) {
  if (!value.is_string()) return wrong_field("reasoning_effort", value, "a string");
  return set("thinking", value.as_string() == "none" ? "off" : "auto", options);
}

/// Fields of both tasks that are more than one value. False: it is none of them.
bool set_common(std::string_view field, const Json& value, SetOption set, TextOptions& options,
                Status& status) {
  if (field == "stop") {
    status = set_stops(value, set, options);
  } else if (field == "stop_token_ids") {
    status = set_stop_ids(value, set, options);
  } else if (field == "response_format") {
    status = set_response_format(value, set, options);
  } else {
    return set_scalar(kScalars, field, value, set, options, status);
  }
  return true;
}

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Status unknown_field(std::string_view field) {
  return Error{ErrorCode::kInvalidArgument,
               cat("request field ", printable(field), ": this build does not know it")};
}

/// logprobs (true or false) with top_logprobs, as chat has them.
Status set_chat_logprobs(const Json& body, TextOptions& options) {
  const Json* wanted = body.find("logprobs");
  const Json* top = body.find("top_logprobs");
  if (wanted != nullptr && !wanted->is_null() && !wanted->is_bool())
    return wrong_field("logprobs", *wanted, "true or false");
  if (top != nullptr && !top->is_null() && !top->is_int())
    return wrong_field("top_logprobs", *top, "an integer");
  if (wanted == nullptr || wanted->is_null() || !wanted->as_bool()) {
    if (top != nullptr && top->is_int() && top->as_int() > 0)
      return wrong_field("top_logprobs", *top, "logprobs to be true");
    return {};
  }
  return set_chat_option("top_logprobs", top != nullptr && top->is_int() ? top->dump() : "0",
                         options);
}

Status set_chat_field(std::string_view field, const Json& value, TextOptions& options,
                      std::vector<std::string>& ignored) {
  Status status;
  if (set_common(field, value, set_chat_option, options, status)) return status;
  if (set_scalar(kChatScalars, field, value, set_chat_option, options, status)) return status;
  if (field == "tool_choice") return set_tool_choice(value, set_chat_option, options);
  if (field == "reasoning_effort") {
    if (!value.is_string() || value.as_string() != "none") ignored.emplace_back(field);
    return set_reasoning_effort(value, set_chat_option, options);
  }
  if (field == "logprobs" || field == "top_logprobs") return {};  // read together
  if (contains(kIgnored, field)) {
    ignored.emplace_back(field);
    return {};
  }
  return unknown_field(field);
}

Status set_completion_field(std::string_view field, const Json& value, TextOptions& options,
                            std::vector<std::string>& ignored) {
  Status status;
  if (set_common(field, value, set_complete_option, options, status)) return status;
  if (set_scalar(kCompleteScalars, field, value, set_complete_option, options, status))
    return status;
  if (field == "logprobs" || field == "top_logprobs") {
    if (value.is_bool() && !value.as_bool()) return {};
    if (!value.is_int()) return wrong_field(field, value, "an integer");
    return set_complete_option("top_logprobs", value.dump(), options);
  }
  if (field == "suffix")
    return Error{ErrorCode::kUnsupported, "request field suffix: these models fill no gaps"};
  if (field == "best_of") {
    if (value.is_int() && value.as_int() == 1) return {};
    return Error{ErrorCode::kUnsupported, "request field best_of: this build takes 1 only"};
  }
  if (contains(kIgnored, field)) {
    ignored.emplace_back(field);
    return {};
  }
  return unknown_field(field);
}

}  // namespace

Status read_chat_body(const Json& body, ChatRequest& request, std::vector<std::string>& ignored) {
  if (!body.is_object())
    return Error{ErrorCode::kInvalidArgument, "request: expected a JSON object"};
  const Json* messages = body.find("messages");
  if (messages == nullptr)
    return Error{ErrorCode::kInvalidArgument, "request field messages: it is missing"};
  request.messages = *messages;
  if (const Json* tools = body.find("tools")) request.tools = *tools;
  for (const auto& [field, value] : body.members()) {
    if (contains(kTransport, field) || value.is_null()) continue;
    RILL_RETURN_IF_ERROR(set_chat_field(field, value, request.options, ignored));
  }
  return set_chat_logprobs(body, request.options);
}

Status read_completion_body(const Json& body, CompleteRequest& request,
                            std::vector<std::string>& ignored) {
  if (!body.is_object())
    return Error{ErrorCode::kInvalidArgument, "request: expected a JSON object"};
  const Json* prompt = body.find("prompt");
  if (prompt == nullptr)
    return Error{ErrorCode::kInvalidArgument, "request field prompt: it is missing"};
  if (prompt->is_string()) {
    request.prompt = prompt->as_string();
  } else {
    constexpr std::string_view kExpected = "a string or an array of token ids";
    if (!prompt->is_array()) return wrong_field("prompt", *prompt, kExpected);
    std::vector<int32_t> ids;
    for (const Json& id : prompt->items()) {
      if (!id.is_int() || id.as_int() < 0 || id.as_int() > std::numeric_limits<int32_t>::max())
        return wrong_field("prompt", *prompt, kExpected);
      ids.push_back(static_cast<int32_t>(id.as_int()));
    }
    request.tokens = std::move(ids);
  }
  for (const auto& [field, value] : body.members()) {
    if (contains(kTransport, field) || value.is_null()) continue;
    RILL_RETURN_IF_ERROR(set_completion_field(field, value, request.options, ignored));
  }
  return {};
}

}  // namespace rill::tasks
