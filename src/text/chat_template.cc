// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <algorithm>

#include "base/str_cat.h"
#include "text/builtin_templates.h"
#include "text/jinja/lexer.h"
#include "text/jinja/parser.h"
#include "text/jinja/python_text.h"

namespace rill::text {
namespace {

using jinja::Value;

// The reference marks the end of the last message's text and cuts the prompt there; templates know
// this marker.
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

Error continue_error(const std::string& what) {
  return {ErrorCode::kInvalidArgument, cat("continue the final message: ", what)};
}

/// Appends the marker to a message's content: to the text, or to the last text part.
Status append_tag(Json& message) {
  Json::Object& fields = message.members();
  const auto content = std::find_if(fields.begin(), fields.end(),
                                    [](const auto& field) { return field.first == "content"; });
  if (content == fields.end()) return continue_error("the last message has no content");
  if (content->second.is_string()) {
    content->second = Json::string(content->second.as_string() + std::string(kContinueTag));
    return {};
  }
  if (!content->second.is_array()) return continue_error("the last message's content is no text");
  Json::Array& parts = content->second.items();
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->is_object()) continue;
    for (auto& field : part->members()) {
      if (field.first != "text" || !field.second.is_string()) continue;
      field.second = Json::string(field.second.as_string() + std::string(kContinueTag));
      return {};
    }
  }
  return continue_error("the last message has no text part");
}

Result<std::string> cut_at_tag(std::string prompt) {
  const std::string_view word = kContinueTag.substr(0, kContinueTag.size() - 1);
  const size_t at = prompt.rfind(word);
  if (at == std::string::npos)
    return continue_error("the template does not print the last message's text");
  const bool keeps_spaces = prompt.compare(at, kContinueTag.size(), kContinueTag) == 0;
  prompt.resize(at);
  if (keeps_spaces) return prompt;
  return std::string(jinja::strip(prompt, std::nullopt, jinja::StripSide::kRight));
}

jinja::Context make_context(const Json& messages, const Json& tools, const RenderOptions& options) {
  jinja::Context context;
  const auto add = [&context](const std::string& name, Value value) {
    const bool is_taken = std::any_of(context.begin(), context.end(),
                                      [&name](const auto& entry) { return entry.first == name; });
    if (!is_taken) context.emplace_back(name, std::move(value));
  };
  add("messages", Value::from_json(messages));
  add("tools", Value::from_json(tools));
  add("documents", Value::none());
  add("add_generation_prompt", Value::boolean(options.add_generation_prompt));
  for (const auto& [name, value] : options.kwargs) add(name, Value::from_json(value));
  add("bos_token", Value::string(options.bos_token));
  add("eos_token", Value::string(options.eos_token));
  return context;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::compile(std::string_view source) {
  ChatTemplate compiled;
  RILL_ASSIGN_OR_RETURN(compiled.statements_, jinja::parse_template(source));
  RILL_ASSIGN_OR_RETURN(const std::vector<jinja::Token> tokens, jinja::tokenize(source));
  for (const jinja::Token& token : tokens) {
    if (token.type == jinja::TokenType::kName) compiled.names_.push_back(token.text);
  }
  std::sort(compiled.names_.begin(), compiled.names_.end());
  return compiled;
}

Result<ChatTemplate> ChatTemplate::builtin(std::string_view name) {
  const std::optional<std::string> source = builtin_template(name);
  if (source) return compile(*source);
  std::string known;
  for (const std::string_view other : builtin_template_names())
    known += cat(known.empty() ? "" : ", ", other);
  return Error{ErrorCode::kNotFound,
               cat("chat template: got \"", printable(name), "\", expected one of ", known)};
}

bool ChatTemplate::mentions(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

Result<std::string> ChatTemplate::render(const Json& messages, const Json& tools,
                                         const RenderOptions& options) const {
  if (!messages.is_array())
    return Error{ErrorCode::kInvalidArgument, "messages: expected an array"};
  if (!options.continue_final_message) {
    return jinja::run_template(statements_, make_context(messages, tools, options), options.now,
                               options.limits);
  }
  if (options.add_generation_prompt) return continue_error("a generation prompt was asked for too");
  if (messages.items().empty() || !messages.items().back().is_object())
    return continue_error("there is no message");
  Json tagged = messages;
  RILL_RETURN_IF_ERROR(append_tag(tagged.items().back()));
  RILL_ASSIGN_OR_RETURN(std::string prompt,
                        jinja::run_template(statements_, make_context(tagged, tools, options),
                                            options.now, options.limits));
  return cut_at_tag(std::move(prompt));
}

}  // namespace rill::text
