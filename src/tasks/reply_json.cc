// SPDX-License-Identifier: Apache-2.0
#include "tasks/reply_json.h"

#include "base/utf8.h"

namespace rill::tasks {
namespace {

Json count(size_t value) { return Json::integer(static_cast<int64_t>(value)); }

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json::string(std::string(text));
}

Json finish_json(FinishReason finish) {
  // OpenAI has no word for it; the reply was cut off.
  return text_or_null(finish_reason_name(finish));
}

Json token_json(int32_t id, float logprob, const text::Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.token_bytes(id);
  Json list = Json::array();
  for (const char byte : bytes) list.items().push_back(count(static_cast<unsigned char>(byte)));
  Json out = Json::object();
  out.set("id", Json::integer(id));
  out.set("token", Json::string(to_valid_utf8(bytes)));
  out.set("logprob", Json::number(static_cast<double>(logprob)));
  out.set("bytes", std::move(list));
  return out;
}

Json chat_logprobs(const std::vector<TokenLogprob>& tokens, const text::Tokenizer& tokenizer) {
  if (tokens.empty()) return {};
  Json content = Json::array();
  for (const TokenLogprob& token : tokens) {
    Json entry = token_json(token.id, token.logprob, tokenizer);
    Json top = Json::array();
    for (const auto& [id, logprob] : token.top)
      top.items().push_back(token_json(id, logprob, tokenizer));
    entry.set("top_logprobs", std::move(top));
    content.items().push_back(std::move(entry));
  }
  Json out = Json::object();
  out.set("content", std::move(content));
  return out;
}

Json completion_logprobs(const std::vector<TokenLogprob>& tokens,
                         const text::Tokenizer& tokenizer) {
  if (tokens.empty()) return {};
  Json texts = Json::array();
  Json values = Json::array();
  Json tops = Json::array();
  for (const TokenLogprob& token : tokens) {
    texts.items().push_back(Json::string(to_valid_utf8(tokenizer.token_bytes(token.id))));
    values.items().push_back(Json::number(static_cast<double>(token.logprob)));
    Json top = Json::object();
    for (const auto& [id, logprob] : token.top) {
      std::string name = to_valid_utf8(tokenizer.token_bytes(id));
      // Different bytes may read the same; a key comes once.
      if (top.find(name) == nullptr)
        top.set(std::move(name), Json::number(static_cast<double>(logprob)));
    }
    tops.items().push_back(std::move(top));
  }
  Json out = Json::object();
  out.set("tokens", std::move(texts));
  out.set("token_logprobs", std::move(values));
  out.set("top_logprobs", std::move(tops));
  return out;
}

Json call_json(const text::ToolCallDelta& call, size_t choice, uint64_t seed) {
  Json function = Json::object();
  Json out = Json::object();
  out.set("index", count(call.index));
  if (!call.name.empty()) {
    out.set("id", Json::string(tool_call_id(seed, choice, call.index)));
    out.set("type", Json::string("function"));
    function.set("name", Json::string(call.name));
  }
  function.set("arguments", Json::string(call.arguments));
  out.set("function", std::move(function));
  return out;
}

Json delta_json(const ReplyEvent& event, uint64_t seed) {
  Json delta = Json::object();
  if (event.is_first) delta.set("role", Json::string("assistant"));
  if (!event.delta.reasoning.empty())
    delta.set("reasoning_content", Json::string(event.delta.reasoning));
  if (!event.delta.content.empty()) delta.set("content", Json::string(event.delta.content));
  if (!event.delta.tool_calls.empty()) {
    Json calls = Json::array();
    for (const text::ToolCallDelta& call : event.delta.tool_calls)
      calls.items().push_back(call_json(call, event.choice, seed));
    delta.set("tool_calls", std::move(calls));
  }
  return delta;
}

Json message_json(const text::Reply& reply, size_t choice, uint64_t seed) {
  Json message = Json::object();
  message.set("role", Json::string("assistant"));
  const bool calls_only = reply.content.empty() && !reply.tool_calls.empty();
  message.set("content", calls_only ? Json() : Json::string(reply.content));
  if (!reply.reasoning.empty()) message.set("reasoning_content", Json::string(reply.reasoning));
  if (reply.tool_calls.empty()) return message;
  Json calls = Json::array();
  for (size_t i = 0; i < reply.tool_calls.size(); ++i) {
    Json function = Json::object();
    function.set("name", Json::string(reply.tool_calls[i].name));
    function.set("arguments", Json::string(reply.tool_calls[i].arguments));
    Json call = Json::object();
    call.set("id", Json::string(tool_call_id(seed, choice, i)));
    call.set("type", Json::string("function"));
    call.set("function", std::move(function));
    calls.items().push_back(std::move(call));
  }
  message.set("tool_calls", std::move(calls));
  return message;
}

}  // namespace

Json event_json(const ReplyEvent& event, ReplyForm shape, uint64_t seed,
                const text::Tokenizer& tokenizer) {
  Json out = Json::object();
  out.set("index", count(event.choice));
  if (shape == ReplyForm::kChat) {
    out.set("delta", delta_json(event, seed));
    out.set("logprobs", chat_logprobs(event.logprobs, tokenizer));
  } else {
    out.set("text", Json::string(event.delta.content));
    out.set("logprobs", completion_logprobs(event.logprobs, tokenizer));
  }
  out.set("finish_reason", finish_json(event.finish));
  return out;
}

Json usage_json(const TextUsage& usage) {
  Json prompt = Json::object();
  prompt.set("cached_tokens", count(usage.cached_tokens));
  Json completion = Json::object();
  completion.set("reasoning_tokens", count(usage.reasoning_tokens));
  Json out = Json::object();
  out.set("prompt_tokens", count(usage.prompt_tokens));
  out.set("completion_tokens", count(usage.completion_tokens));
  out.set("total_tokens", count(usage.prompt_tokens + usage.completion_tokens));
  out.set("prompt_tokens_details", std::move(prompt));
  out.set("completion_tokens_details", std::move(completion));
  return out;
}

Json result_json(const ReplyResult& result, ReplyForm shape, const text::Tokenizer& tokenizer) {
  Json choices = Json::array();
  for (size_t i = 0; i < result.choices.size(); ++i) {
    const ReplyChoice& choice = result.choices[i];
    Json entry = Json::object();
    entry.set("index", count(i));
    if (shape == ReplyForm::kChat) {
      entry.set("message", message_json(choice.reply, i, result.usage.seed));
      entry.set("logprobs", chat_logprobs(choice.logprobs, tokenizer));
    } else {
      entry.set("text", Json::string(choice.reply.content));
      entry.set("logprobs", completion_logprobs(choice.logprobs, tokenizer));
    }
    entry.set("finish_reason", finish_json(choice.finish));
    choices.items().push_back(std::move(entry));
  }
  Json out = Json::object();
  out.set("choices", std::move(choices));
  out.set("usage", usage_json(result.usage));
  return out;
}

}  // namespace rill::tasks
