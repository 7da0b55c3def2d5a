// SPDX-License-Identifier: Apache-2.0
#include "tasks/openai_request.h"

#include <gtest/gtest.h>

#include "support/test_data.h"
#include "tasks/reply_json.h"
#include "tasks/text_model.h"

namespace rill::tasks {
namespace {

Json parsed(const std::string& text) {
  auto json = parse_json(text);
  RILL_CHECK(json.has_value(), "test JSON");
  return std::move(json).value();
}

struct Read {
  Status status;
  ChatRequest request;
  std::vector<std::string> ignored;
};

Read read_chat(const std::string& fields) {
  Read read;
  read.status =
      read_chat_body(parsed(R"({"messages": [])" + (fields.empty() ? "" : ", " + fields) + "}"),
                     read.request, read.ignored);
  return read;
}

TEST(OpenAiRequest, HonoursFields) {
  const Read read = read_chat(
      R"("model": "any", "stream": true, "temperature": 0.5, "top_k": 4, "n": 2, "seed": 9,
         "max_completion_tokens": 30, "stop": ["a", "b"], "logprobs": true, "top_logprobs": 3,
         "logit_bias": {"5": -1}, "chat_template_kwargs": {"x": 1}, "reasoning_budget": 7,
         "tool_choice": {"type": "function", "function": {"name": "none"}},
         "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
         "user": "u", "presence_penalty": null)");
  ASSERT_TRUE(read.status.has_value()) << read.status.error().message;
  const TextOptions& options = read.request.options;
  EXPECT_EQ(options.temperature, 0.5f);
  EXPECT_EQ(options.n, 2u);
  EXPECT_EQ(options.max_tokens, size_t{30});
  EXPECT_EQ(options.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.top_logprobs, size_t{3});
  EXPECT_EQ(options.thinking.budget_tokens, 7u);
  EXPECT_EQ(options.tool_choice, "function:none");  // a tool of that name
  EXPECT_EQ(options.response.kind, ResponseRule::Kind::kJsonSchema);
  EXPECT_EQ(options.response.text, R"({"type":"object"})");
  EXPECT_EQ(read.ignored, std::vector<std::string>{"user"});
}

TEST(OpenAiRequest, NamesTheFieldAtFault) {
  for (const auto& [fields, name] : std::vector<std::pair<std::string, std::string>>{
           {R"("temperature": "hot")", "temperature"},
           {R"("n": 0)", "n"},
           {R"("stop": [1])", "stop"},
           {R"("top_logprobs": 2)", "top_logprobs"},
           {R"("response_format": {"type": "xml"})", "response_format"},
           {R"("no_such_field": 1)", "no_such_field"},
           {R"("tool_choice": 5)", "tool_choice"}}) {
    const Read read = read_chat(fields);
    ASSERT_FALSE(read.status.has_value()) << fields;
    EXPECT_NE(read.status.error().message.find(name), std::string::npos);
  }
  Read missing;
  EXPECT_FALSE(read_chat_body(parsed("{}"), missing.request, missing.ignored).has_value());
  EXPECT_FALSE(read_chat_body(parsed("[]"), missing.request, missing.ignored).has_value());
}

TEST(OpenAiRequest, ReadsCompletions) {
  CompleteRequest request;
  std::vector<std::string> ignored;
  ASSERT_TRUE(read_completion_body(parsed(R"({"prompt": [1, 2], "echo": true, "logprobs": 2})"),
                                   request, ignored)
                  .has_value());
  EXPECT_EQ(*request.tokens, (std::vector<int32_t>{1, 2}));
  EXPECT_TRUE(request.options.echo);
  EXPECT_EQ(request.options.top_logprobs, size_t{2});
  for (const char* body : {R"({"prompt": ["a", "b"]})", R"({"prompt": [-1]})",
                           R"({"prompt": "a", "suffix": "b"})", R"({"prompt": "a", "best_of": 2})"})
    EXPECT_FALSE(read_completion_body(parsed(body), request, ignored).has_value()) << body;
}

TEST(ReplyJson, HasOpenAisShape) {
  auto tokenizer = open_tokenizer(test::data_path("text/tokenizer"));
  ASSERT_TRUE(tokenizer.has_value());
  ReplyEvent event;
  event.is_first = true;
  event.delta.tool_calls.push_back({0, "light", "{\"on\":", false});
  const std::string id = tool_call_id(7, 0, 0);
  EXPECT_EQ(event_json(event, ReplyForm::kChat, 7, *tokenizer).dump(),
            R"({"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":")" + id +
                R"(","type":"function","function":{"name":"light","arguments":"{\"on\":"}}]},)" +
                R"("logprobs":null,"finish_reason":null})");
  ReplyEvent last;
  last.delta.tool_calls.push_back({0, "", "true}", true});
  last.finish = FinishReason::kToolCalls;
  EXPECT_EQ(event_json(last, ReplyForm::kChat, 7, *tokenizer).dump(),
            R"({"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"true}"}}]},)"
            R"("logprobs":null,"finish_reason":"tool_calls"})");
  ReplyResult result;
  result.usage.seed = 7;
  result.usage.prompt_tokens = 5;
  result.usage.cached_tokens = 4;
  result.choices.resize(1);
  result.choices[0].reply.append(event.delta);
  result.choices[0].reply.append(last.delta);
  result.choices[0].finish = FinishReason::kToolCalls;
  const Json whole = result_json(result, ReplyForm::kChat, *tokenizer);
  const Json& message = *whole.find("choices")->items()[0].find("message");
  EXPECT_TRUE(message.find("content")->is_null());
  EXPECT_EQ(message.find("tool_calls")->items()[0].find("function")->dump(),
            R"({"name":"light","arguments":"{\"on\":true}"})");
  EXPECT_EQ(message.find("tool_calls")->items()[0].find("id")->as_string(), id);
  EXPECT_EQ(whole.find("usage")->find("prompt_tokens_details")->dump(), R"({"cached_tokens":4})");
}

}  // namespace
}  // namespace rill::tasks
