// SPDX-License-Identifier: Apache-2.0
#include "text/chat_messages.h"

#include "text/builtin_templates.h"
#include "text/chat_template.h"
#include "unit/text/text_test_data.h"

namespace rill::text {
namespace {

Json json(const std::string& text) {
  Result<Json> parsed = parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return *std::move(parsed);
}

std::string normal(const std::string& messages) {
  const Result<Json> result = normalize_messages(json(messages));
  return result ? result->dump() : result.error().message;
}

std::string render(const std::string& name, const Json& messages, const Json& tools = {}) {
  const Result<ChatTemplate> chat = ChatTemplate::builtin(name);
  const Result<std::string> prompt =
      chat->render(messages, tools, {.now = {2026, 5, 28, 9, 30, 0}});
  return prompt ? *prompt : "error: " + prompt.error().message;
}

TEST(NormalizeMessages, EveryEmptyContentIsTheSame) {
  const std::string expected = R"([{"role":"user","content":""}])";
  EXPECT_EQ(normal(R"([{"role":"user"}])"), expected);
  EXPECT_EQ(normal(R"([{"role":"user","content":null}])"), expected);
  EXPECT_EQ(normal(R"([{"role":"user","content":""}])"), expected);
  EXPECT_EQ(normal(R"([{"role":"user","content":[]}])"), expected);
}

TEST(NormalizeMessages, JoinsTextPartsAndSerializesObjects) {
  EXPECT_EQ(
      normal(
          R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},"c"]}])"),
      R"([{"role":"user","content":"abc"}])");
  EXPECT_EQ(normal(R"([{"role":"tool","content":{"temp":21}}])"),
            R"([{"role":"tool","content":"{\"temp\": 21}"}])");
}

TEST(NormalizeMessages, ToolCallsGetTheirWrapperAndObjects) {
  const std::string expected =
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1}}}]}])";
  EXPECT_EQ(
      normal(
          R"([{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1}}}]}])"),
      expected);
  EXPECT_EQ(
      normal(
          R"([{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{\"a\":1}"}]}])"),
      expected);
  for (const char* none : {"\"\"", "\" \"", "null", "\"null\"", "\"{}\"", "{}"}) {
    EXPECT_EQ(
        normal(std::string(R"([{"role":"a","tool_calls":[{"name":"f","arguments":)") + none +
               "}]}]"),
        R"([{"role":"a","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}])");
  }
  EXPECT_EQ(normal(R"([{"role":"a","content":"x","tool_calls":[]}])"),
            R"([{"role":"a","content":"x"}])");
  EXPECT_EQ(normal(R"([{"role":"a","content":"x","tool_calls":null}])"),
            R"([{"role":"a","content":"x"}])");
}

TEST(NormalizeMessages, ThinkingHasOneTextUnderBothNames) {
  const std::string expected =
      R"([{"role":"assistant","content":"4","thinking":"t","reasoning_content":"t"}])";
  for (const char* field : {"thinking", "reasoning_content", "reasoning"}) {
    EXPECT_EQ(normal(std::string(R"([{"role":"assistant","content":"4",")") + field + "\":\"t\"}]"),
              expected);
  }
  EXPECT_EQ(normal(R"([{"role":"assistant","content":"4","thinking":null,"reasoning":""}])"),
            R"([{"role":"assistant","content":"4"}])");
}

TEST(NormalizeMessages, FaultsNameTheirPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "messages: got an object, expected an array"},
      {"[]", "messages: got an empty array, expected a message"},
      {"[1]", "messages[0]: got a number, expected an object"},
      {"[{}]", "messages[0].role: got nothing, expected a string"},
      {R"([{"role":"user"},{"role":""}])", "messages[1].role: got an empty string"},
      {R"([{"role":"user","content":5}])",
       "messages[0].content: got a number, expected a string, null or an array of parts"},
      {R"([{"role":"user","content":[{"type":"video"}]}])",
       "messages[0].content[0].type: got \"video\", this model takes \"text\""},
      {R"([{"role":"user","content":[{"type":"text"}]}])",
       "messages[0].content[0].text: got nothing, expected a string"},
      {R"([{"role":"user","content":[[]]}])",
       "messages[0].content[0]: got an array, expected an object"},
      {R"([{"role":"a","thinking":1}])", "messages[0].thinking: got a number, expected a string"},
      {R"([{"role":"a","tool_calls":{}}])",
       "messages[0].tool_calls: got an object, expected an array"},
      {R"([{"role":"a","tool_calls":[{}]}])",
       "messages[0].tool_calls[0].name: got nothing, expected a string"},
      {R"([{"role":"a","tool_calls":[{"function":{"name":"f","arguments":"[1]"}}]}])",
       "messages[0].tool_calls[0].function.arguments: got an array, expected an object in the "
       "text"},
  };
  for (const auto& [messages, message] : cases) EXPECT_EQ(normal(messages), message);
  EXPECT_NE(normal(R"([{"role":"a","tool_calls":[{"name":"f","arguments":"{"}]}])")
                .find("messages[0].tool_calls[0].arguments: the text is no JSON: "),
            std::string::npos);
}

TEST(NormalizeMessages, EveryReferenceMessageListRendersWithEveryTemplate) {
  // Whatever makes the reference raise works after normalization; an empty list is the one fault.
  const Json cases = test::read_data_json("chat/chat_cases.json");
  for (const Json& item : cases.find("cases")->items()) {
    const std::string& name = item.find("name")->as_string();
    if (name == "parts_image" || name == "parts_other")
      continue;  // parts that text models do not take
    const Result<Json> messages = normalize_messages(*item.find("messages"));
    if (name == "no_messages") {
      EXPECT_FALSE(messages);
      continue;
    }
    ASSERT_TRUE(messages) << name << ": " << messages.error().message;
    const Json* tools = item.find("tools");
    for (const std::string_view behaviour : builtin_template_names()) {
      const std::string prompt =
          render(std::string(behaviour), *messages, tools == nullptr ? Json() : *tools);
      EXPECT_EQ(prompt.rfind("<|startoftext|>", 0), 0u)
          << behaviour << " " << name << ": " << prompt;
    }
  }
}

TEST(NormalizeMessages, ArrayAndStringFormsGiveTheSamePrompt) {
  const char* as_string = R"([{"role":"system","content":"S"},{"role":"user","content":"ab"}])";
  const char* as_parts =
      R"([{"role":"system","content":[{"type":"text","text":"S"}]},{"role":"user","content":["a",{"type":"text","text":"b"}]}])";
  const Json tools = json(R"([{"name":"f"}])");
  for (const std::string_view name : builtin_template_names()) {
    const std::string prompt =
        render(std::string(name), *normalize_messages(json(as_string)), tools);
    EXPECT_EQ(prompt, render(std::string(name), *normalize_messages(json(as_parts)), tools));
  }
}

TEST(NormalizeTools, ChecksItemsAndDropsTheEmptyList) {
  EXPECT_EQ(normalize_tools(json("[]"))->dump(), "null");
  EXPECT_EQ(normalize_tools(json("null"))->dump(), "null");
  EXPECT_EQ(normalize_tools(json("[{\"name\":\"f\"},\"raw\"]"))->dump(),
            "[{\"name\":\"f\"},\"raw\"]");
  EXPECT_EQ(normalize_tools(json("[1]")).error().message,
            "tools[0]: got a number, expected an object");
  EXPECT_EQ(normalize_tools(json("{}")).error().message, "tools: got an object, expected an array");
}

TEST(ChatTemplate, MentionsTellsWhichSwitchesMatter) {
  const Result<ChatTemplate> chat = ChatTemplate::builtin("lfm2.5");
  EXPECT_TRUE(chat->mentions("preserve_thinking"));
  EXPECT_FALSE(chat->mentions("enable_thinking"));
  EXPECT_FALSE(ChatTemplate::builtin("chatml"));
}

TEST(ChatTemplate, ContinueNeedsTextAndExcludesAGenerationPrompt) {
  const Result<ChatTemplate> chat = ChatTemplate::builtin("lfm2");
  const Json messages = json(R"([{"role":"assistant","content":"Hel"}])");
  const RenderOptions both = {.continue_final_message = true};
  EXPECT_FALSE(chat->render(messages, {}, both));
  RenderOptions only = both;
  only.add_generation_prompt = false;
  EXPECT_EQ(*chat->render(messages, {}, only), "<|startoftext|><|im_start|>assistant\nHel");
  EXPECT_FALSE(chat->render(json("[]"), {}, only));
  EXPECT_FALSE(chat->render(json(R"([{"role":"assistant"}])"), {}, only));
}

}  // namespace
}  // namespace rill::text
