// SPDX-License-Identifier: Apache-2.0
// The built-in templates, run by the interpreter, against the reference prompts
// (tests/data/text/chat).
#include "text/chat_template.h"

#include "text/builtin_templates.h"
#include "unit/text/text_test_data.h"

namespace rill::text {
namespace {

RenderOptions options_of(const Json& item) {
  RenderOptions options;
  options.add_generation_prompt = item.find("add_generation_prompt")->as_bool();
  const Json* continued = item.find("continue_final_message");
  options.continue_final_message = continued != nullptr && continued->as_bool();
  options.now = {2026, 5, 28, 9, 30, 0};
  if (const Json* kwargs = item.find("template_kwargs")) options.kwargs = kwargs->members();
  return options;
}

Json tools_of(const Json& item) {
  const Json* tools = item.find("tools");
  return tools == nullptr ? Json() : *tools;
}

ChatTemplate builtin(std::string_view name) {
  Result<ChatTemplate> compiled = ChatTemplate::builtin(name);
  EXPECT_TRUE(compiled) << name << ": " << compiled.error().message;
  return *std::move(compiled);
}

TEST(ChatTemplate, RendersEveryReferencePrompt) {
  const Json cases = test::read_data_json("chat/chat_cases.json");
  size_t prompts = 0, errors = 0;
  for (const Json& item : cases.find("cases")->items()) {
    const std::string& name = item.find("name")->as_string();
    for (const auto& [behaviour, expected] : item.find("expected")->members()) {
      const ChatTemplate chat = builtin(behaviour);
      const Result<std::string> prompt =
          chat.render(*item.find("messages"), tools_of(item), options_of(item));
      if (expected.is_null()) {
        EXPECT_FALSE(prompt) << behaviour << " " << name << ": " << *prompt;
        ++errors;
      } else {
        ASSERT_TRUE(prompt) << behaviour << " " << name << ": " << prompt.error().message;
        EXPECT_EQ(*prompt, expected.as_string()) << behaviour << " " << name;
        ++prompts;
      }
    }
  }
  EXPECT_EQ(prompts, 353u);
  EXPECT_EQ(errors, 20u);
}

}  // namespace
}  // namespace rill::text
