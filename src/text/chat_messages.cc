// SPDX-License-Identifier: Apache-2.0
#include "text/chat_messages.h"

#include <string>

#include "base/str_cat.h"

namespace rill::text {
namespace {

Error fault(const std::string& path, const std::string& what) {
  return {ErrorCode::kInvalidArgument, cat(path, ": ", what)};
}

std::string_view type_name(const Json* value) {
  if (value == nullptr) return "nothing";
  switch (value->type()) {
    case Json::Type::kNull:
      return "null";
    case Json::Type::kBool:
      return "a boolean";
    case Json::Type::kInt:
    case Json::Type::kDouble:
      return "a number";
    case Json::Type::kString:
      return "a string";
    case Json::Type::kArray:
      return "an array";
    case Json::Type::kObject:
      break;
  }
  return "an object";
}

Error wrong_type(const std::string& path, const Json* got, std::string_view expected) {
  return fault(path, cat("got ", type_name(got), ", expected ", expected));
}

bool is_absent(const Json* value) { return value == nullptr || value->is_null(); }

Result<std::string> part_text(const std::string& path, const Json& part) {
  if (part.is_string()) return part.as_string();
  if (!part.is_object()) return wrong_type(path, &part, "an object");
  const Json* type = part.find("type");
  if (type == nullptr || !type->is_string()) return wrong_type(path + ".type", type, "a string");
  if (type->as_string() != "text") {
    return fault(path + ".type",
                 cat("got \"", printable(type->as_string()), "\", this model takes \"text\""));
  }
  const Json* text = part.find("text");
  if (text == nullptr || !text->is_string()) return wrong_type(path + ".text", text, "a string");
  return text->as_string();
}

Result<std::string> content_text(const std::string& path, const Json* content) {
  if (is_absent(content)) return std::string();
  if (content->is_string()) return content->as_string();
  if (content->is_object()) return content->dump(true);
  if (!content->is_array()) return wrong_type(path, content, "a string, null or an array of parts");
  std::string text;
  for (size_t i = 0; i < content->items().size(); ++i) {
    RILL_ASSIGN_OR_RETURN(const std::string part,
                          part_text(cat(path, "[", i, "]"), content->items()[i]));
    text += part;
  }
  return text;
}

/// The arguments of a call as an object.
Result<Json> call_arguments(const std::string& path, const Json* arguments) {
  if (is_absent(arguments)) return Json::object();
  if (arguments->is_object()) return *arguments;
  if (!arguments->is_string()) return wrong_type(path, arguments, "an object or its JSON text");
  const bool is_blank = arguments->as_string().find_first_not_of(" \t\r\n") == std::string::npos;
  if (is_blank) return Json::object();
  Result<Json> parsed = parse_json(arguments->as_string());
  if (!parsed) return fault(path, cat("the text is no JSON: ", parsed.error().message));
  if (parsed->is_null()) return Json::object();
  if (!parsed->is_object()) return wrong_type(path, &*parsed, "an object in the text");
  return parsed;
}

/// A call with its "function" wrapper; one without gets it.
Result<Json> normal_call(const std::string& path, const Json& call) {
  if (!call.is_object()) return wrong_type(path, &call, "an object");
  const Json* wrapped = call.find("function");
  const std::string function_path = wrapped == nullptr ? path : path + ".function";
  const Json& function = wrapped == nullptr ? call : *wrapped;
  if (!function.is_object()) return wrong_type(function_path, wrapped, "an object");
  const Json* name = function.find("name");
  if (name == nullptr || !name->is_string())
    return wrong_type(function_path + ".name", name, "a string");
  RILL_ASSIGN_OR_RETURN(Json arguments,
                        call_arguments(function_path + ".arguments", function.find("arguments")));
  Json inner = Json::object();
  inner.set("name", *name);
  inner.set("arguments", std::move(arguments));
  Json outer = Json::object();
  for (const auto& [key, value] : call.members()) {
    if (key != "function" && key != "name" && key != "arguments" && !value.is_null())
      outer.set(key, value);
  }
  outer.set("function", std::move(inner));
  return outer;
}

Result<Json> normal_calls(const std::string& path, const Json& calls) {
  if (!calls.is_array()) return wrong_type(path, &calls, "an array");
  Json normal = Json::array();
  for (size_t i = 0; i < calls.items().size(); ++i) {
    RILL_ASSIGN_OR_RETURN(Json call, normal_call(cat(path, "[", i, "]"), calls.items()[i]));
    normal.items().push_back(std::move(call));
  }
  return normal;
}

constexpr std::string_view kThinkingFields[] = {"thinking", "reasoning_content", "reasoning"};

/// The first of the fields that is a text with something in it.
Result<std::string> thinking_text(const std::string& path, const Json& message) {
  for (const std::string_view field : kThinkingFields) {
    const Json* value = message.find(field);
    if (is_absent(value)) continue;
    if (!value->is_string()) return wrong_type(cat(path, ".", field), value, "a string");
    if (!value->as_string().empty()) return value->as_string();
  }
  return std::string();
}

bool is_rewritten(std::string_view key) {
  return key == "content" || key == "tool_calls" || key == kThinkingFields[0] ||
         key == kThinkingFields[1] || key == kThinkingFields[2];
}

Result<Json> normal_message(const std::string& path, const Json& message) {
  if (!message.is_object()) return wrong_type(path, &message, "an object");
  const Json* role = message.find("role");
  if (role == nullptr || !role->is_string()) return wrong_type(path + ".role", role, "a string");
  if (role->as_string().empty()) return fault(path + ".role", "got an empty string");
  Json normal = Json::object();
  for (const auto& [key, value] : message.members()) {
    if (!is_rewritten(key) && !value.is_null()) normal.set(key, value);
  }
  RILL_ASSIGN_OR_RETURN(std::string content,
                        content_text(path + ".content", message.find("content")));
  normal.set("content", Json::string(std::move(content)));
  RILL_ASSIGN_OR_RETURN(const std::string thinking, thinking_text(path, message));
  if (!thinking.empty()) {
    normal.set("thinking", Json::string(thinking));
    normal.set("reasoning_content", Json::string(thinking));
  }
  const Json* calls = message.find("tool_calls");
  if (is_absent(calls)) return normal;
  RILL_ASSIGN_OR_RETURN(Json normal_list, normal_calls(path + ".tool_calls", *calls));
  if (!normal_list.items().empty()) normal.set("tool_calls", std::move(normal_list));
  return normal;
}

}  // namespace

Result<Json> normalize_messages(const Json& messages) {
  if (!messages.is_array()) return wrong_type("messages", &messages, "an array");
  if (messages.items().empty()) return fault("messages", "got an empty array, expected a message");
  Json normal = Json::array();
  for (size_t i = 0; i < messages.items().size(); ++i) {
    RILL_ASSIGN_OR_RETURN(Json message,
                          normal_message(cat("messages[", i, "]"), messages.items()[i]));
    normal.items().push_back(std::move(message));
  }
  return normal;
}

Result<Json> normalize_tools(const Json& tools) {
  if (tools.is_null()) return Json();
  if (!tools.is_array()) return wrong_type("tools", &tools, "an array");
  for (size_t i = 0; i < tools.items().size(); ++i) {
    const Json& tool = tools.items()[i];
    if (!tool.is_object() && !tool.is_string())
      return wrong_type(cat("tools[", i, "]"), &tool, "an object");
  }
  return tools.items().empty() ? Json() : tools;
}

}  // namespace rill::text
