// SPDX-License-Identifier: Apache-2.0
#include "tasks/token_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tasks/reasoning_gate.h"
#include "tasks/stop_strings.h"
#include "tasks/text_options.h"

namespace rill::tasks {
namespace {

/// What comes out when `text` arrives in pieces of the given sizes, the last one repeated.
std::string through(const std::vector<std::string>& stops, const std::string& text,
                    const std::vector<size_t>& sizes, bool* stopped = nullptr) {
  StopStrings matcher(stops);
  std::string out;
  size_t at = 0;
  for (size_t i = 0; at < text.size(); ++i) {
    const size_t size = sizes[std::min(i, sizes.size() - 1)];
    out += matcher.push(std::string_view(text).substr(at, size));
    at += size;
  }
  if (stopped != nullptr) *stopped = matcher.is_stopped();
  return out + matcher.finish();
}

struct StopCase {
  std::vector<std::string> stops;
  std::string text;
  std::string expected;
  bool is_stopped;
};

TEST(StopStrings, CutsBeforeTheStopAtEverySplit) {
  const std::vector<std::string> all = {"\n", "Alice:", "DEFGHIJ", "O P Q"};
  const StopCase cases[] = {
      {all, "Hi Alice: no", "Hi ", true},
      {all, "Alice: at once", "", true},
      {all, "Alic and Alice and Alice:", "Alic and Alice and ", true},
      {all, "ABCDEFGHIJK", "ABC", true},
      {all, "ABCDEFGHI", "ABCDEFGHI", false},
      {all, "N O P O P Q", "N O P ", true},
      {all, "line\nline", "line", true},
      {{}, "anything", "anything", false},
      {{"aab"}, "aaaab", "aa", true},
      {{"abcd", "bc"}, "xabcd", "xa", true},
      {{"bcd", "abcd"}, "xabcd", "x", true},
      {{"\xF0\x9F\x98\x80"}, "a\xF0\x9F\x98\x80 b", "a", true},
  };
  for (const StopCase& c : cases) {
    for (size_t first = 1; first <= c.text.size(); ++first) {
      for (const size_t rest : {1, 2, 3, 7}) {
        bool stopped = false;
        EXPECT_EQ(through(c.stops, c.text, {first, static_cast<size_t>(rest)}, &stopped),
                  c.expected);
        EXPECT_EQ(stopped, c.is_stopped) << c.text << " after " << first;
      }
    }
  }
}

TEST(StopStrings, LetsTextThroughAsSoonAsItIsSafe) {
  StopStrings matcher({"stop"});
  EXPECT_EQ(matcher.push("no s"), "no ");
  EXPECT_EQ(matcher.push("to"), "");
  EXPECT_EQ(matcher.push("s"), "sto");
  EXPECT_EQ(matcher.finish(), "s");
}

std::vector<uint64_t> allowed(ReasoningGate& gate, size_t vocab) {
  std::vector<uint64_t> words((vocab + 63) / 64);
  EXPECT_TRUE(gate.allowed(words).has_value());
  return words;
}

/// Allows token 5 alone.
class OnlyFive : public session::TokenConstraint {
 public:
  Status allowed(std::span<uint64_t> words) override {
    for (uint64_t& word : words) word = 0;
    words[0] = 1u << 5;
    return {};
  }
  Status accept(int32_t token) override {
    if (token == 5) return {};
    return Error{ErrorCode::kInvalidArgument, "not five"};
  }
};

TEST(ReasoningGate, ForcesTheEndOfReasoningAfterTheBudget) {
  ReasoningGate gate({.open_id = 1, .close_id = 2, .budget = 2, .vocab_size = 70}, nullptr);
  ASSERT_TRUE(gate.accept(1).has_value());
  EXPECT_EQ(allowed(gate, 70), (std::vector<uint64_t>{~uint64_t{0}, 63}));
  ASSERT_TRUE(gate.accept(9).has_value());
  ASSERT_TRUE(gate.accept(9).has_value());
  EXPECT_EQ(allowed(gate, 70), (std::vector<uint64_t>{1u << 2, 0}));
  ASSERT_TRUE(gate.accept(2).has_value());
  EXPECT_EQ(allowed(gate, 70)[0], ~uint64_t{2});  // all but to begin again
}

TEST(ReasoningGate, HoldsTheAnswerToItsRule) {
  OnlyFive rule;
  ReasoningGate gate({.open_id = 1, .close_id = 2, .vocab_size = 64}, &rule);
  EXPECT_EQ(allowed(gate, 64)[0], 1u << 5 | 1u << 1);  // the answer, or reasoning first
  ASSERT_TRUE(gate.accept(1).has_value());
  EXPECT_EQ(allowed(gate, 64)[0], ~uint64_t{0});
  ASSERT_TRUE(gate.accept(9).has_value());
  ASSERT_TRUE(gate.accept(2).has_value());
  ASSERT_TRUE(gate.accept(5).has_value());
  EXPECT_EQ(allowed(gate, 64)[0], 1u << 5);  // an answer that has begun is not thought about
}

TEST(TextOptions, RefusesBadValuesByName) {
  TextOptions options;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"temperature", "hot"},
                                                        {"top_p", "0"},
                                                        {"min_p", "2"},
                                                        {"n", "0"},
                                                        {"logit_bias", "[1]"},
                                                        {"logit_bias", "{\"x\": 1}"},
                                                        {"thinking", "maybe"},
                                                        {"chat_template_kwargs", "[]"},
                                                        {"stop_ids", "1,x"},
                                                        {"response_format", "xml"},
                                                        {"echo", "true"},  // completion's
                                                        {"nosuch", "1"}}) {
    const Status set = set_chat_option(key, value, options);
    ASSERT_FALSE(set.has_value()) << key;
    EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(set.error().message.find(key), std::string::npos);
  }
  EXPECT_TRUE(set_complete_option("echo", "true", options).has_value());
  EXPECT_TRUE(options.echo);
}

TEST(TextOptions, ReadsWhatClientsSend) {
  TextOptions options;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"stop", ""},
           {"stop", "a"},
           {"stop", "[b"},
           {"top_k", "-1"},
           {"seed", "-1"},
           {"logit_bias", "{\"3\": -2.5, \"4\": false}"},
           {"thinking", "16"}}) {
    ASSERT_TRUE(set_chat_option(key, value, options).has_value()) << key;
  }
  EXPECT_EQ(options.stop, (std::vector<std::string>{"a", "[b"}));
  EXPECT_EQ(options.top_k, size_t{0});
  EXPECT_FALSE(options.seed.has_value());
  EXPECT_EQ(options.logit_bias[0], (std::pair<int32_t, float>{3, -2.5f}));
  EXPECT_TRUE(std::isinf(options.logit_bias[1].second));
  EXPECT_EQ(options.thinking.budget_tokens, 16u);
}

}  // namespace
}  // namespace rill::tasks
