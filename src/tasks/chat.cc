// SPDX-License-Identifier: Apache-2.0
#include "tasks/chat.h"

#include <time.h>

#include <utility>

#include "base/str_cat.h"
#include "tasks/reply_rule.h"
#include "text/chat_messages.h"

namespace rill::tasks {
namespace {

text::jinja::DateTime local_time() {
  const time_t now = time(nullptr);
  struct tm fields = {};
  text::jinja::DateTime out;
  if (localtime_r(&now, &fields) == nullptr) return out;
  out.year = fields.tm_year + 1900;
  out.month = fields.tm_mon + 1;
  out.day = fields.tm_mday;
  out.hour = fields.tm_hour;
  out.minute = fields.tm_min;
  out.second = fields.tm_sec;
  return out;
}

std::string token_text(const TextModel& model, std::optional<int32_t> id) {
  return id ? std::string(model.tokenizer().token_bytes(*id)) : std::string();
}

bool ends_with_open_think(std::string_view prompt) {
  const size_t end = prompt.find_last_not_of(" \n\r\t");
  return end != std::string_view::npos && prompt.substr(0, end + 1).ends_with("<think>");
}

/// The template's switches: those of the request, and the one that thinking stands for.
void set_kwargs(const TextModel& model, const TextOptions& options, text::RenderOptions& render,
                std::vector<std::string>& ignored) {
  constexpr std::string_view kSwitch = "enable_thinking";
  const auto& chat_template = model.chat_template();
  for (const auto& [key, value] : options.template_kwargs.members()) {
    // Thinking is switched by the task where the template cannot.
    if (!chat_template.mentions(key) && key != kSwitch)
      ignored.push_back("chat_template_kwargs." + key);
    render.kwargs.emplace_back(key, value);
  }
  const bool is_given = options.template_kwargs.find(kSwitch) != nullptr;
  if (is_given || options.thinking.mode == Thinking::Mode::kModel) return;
  const bool wants =
      options.thinking.mode == Thinking::Mode::kOn ||
      (options.thinking.mode == Thinking::Mode::kBudget && options.thinking.budget_tokens > 0);
  render.kwargs.emplace_back(std::string(kSwitch), Json::boolean(wants));
}

std::optional<size_t> reasoning_budget(const TextOptions& options) {
  if (options.thinking.mode == Thinking::Mode::kOff) return 0;
  if (options.thinking.mode == Thinking::Mode::kBudget) return options.thinking.budget_tokens;
  if (options.thinking.mode == Thinking::Mode::kOn) return std::nullopt;
  const Json* enabled = options.template_kwargs.find("enable_thinking");
  if (enabled != nullptr && enabled->is_bool() && !enabled->as_bool()) return 0;
  return std::nullopt;
}

}  // namespace

Result<ChatPrompt> make_chat_prompt(const TextModel& model, const ChatRequest& request) {
  RILL_ASSIGN_OR_RETURN(const Json messages, text::normalize_messages(request.messages));
  RILL_ASSIGN_OR_RETURN(Json tools, text::normalize_tools(request.tools));
  if (request.options.tool_choice == "none") tools = Json();
  ChatPrompt prompt;
  text::RenderOptions render;
  render.continue_final_message = request.options.continue_final_message;
  render.add_generation_prompt = !render.continue_final_message;
  render.bos_token = token_text(model, model.tokenizer().bos_id());
  render.eos_token = token_text(model, model.tokenizer().eos_id());
  render.now = local_time();
  set_kwargs(model, request.options, render, prompt.ignored);
  RILL_ASSIGN_OR_RETURN(prompt.text, model.chat_template().render(messages, tools, render));
  RILL_ASSIGN_OR_RETURN(prompt.tokens, model.tokenizer().encode(prompt.text));
  prompt.starts_in_reasoning = ends_with_open_think(prompt.text);
  return prompt;
}

Result<ReplyStream> start_chat(const TextModel& model, const ChatRequest& request,
                               const TextRun& run) {
  RILL_ASSIGN_OR_RETURN(ChatPrompt prompt, make_chat_prompt(model, request));
  ReplySetup setup;
  setup.is_chat = true;
  setup.parse.starts_in_reasoning = prompt.starts_in_reasoning;
  setup.parse.parse_tool_calls = request.options.parse_tool_calls;
  setup.tools = request.tools;
  setup.reasoning_budget = reasoning_budget(request.options);
  RILL_ASSIGN_OR_RETURN(setup.rule, make_reply_rule(model, request.options, request.tools));
  RILL_ASSIGN_OR_RETURN(
      ReplyStream stream,
      ReplyStream::start(model, std::move(prompt.tokens), std::move(setup), request.options, run));
  stream.set_ignored(std::move(prompt.ignored));
  return stream;
}

}  // namespace rill::tasks
