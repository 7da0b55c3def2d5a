// SPDX-License-Identifier: Apache-2.0
// Reasoning and tool calls, whole and cut at every byte.
#include "text/reply_parser.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace rill::text {
namespace {

const std::string kStart = "<|tool_call_start|>";
const std::string kEnd = "<|tool_call_end|>";

Json json(const std::string& text) {
  Result<Json> parsed = parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *std::move(parsed) : Json();
}

/// The reply as one line: R(reasoning) C(content) name(arguments)[!] ...; "!" marks calls that are
/// not complete.
std::string shown(const Reply& reply) {
  std::string out = "R(" + reply.reasoning + ") C(" + reply.content + ")";
  for (const ToolCall& call : reply.tool_calls) {
    out += " " + call.name + "(" + call.arguments + ")" + (call.is_complete ? "" : "!");
  }
  return out;
}

Reply cut_reply(const std::string& text, size_t first, size_t step, const ReplyOptions& options,
                const Json& tools) {
  ReplyParser parser(options, tools);
  Reply reply;
  for (size_t begin = 0, end = first; begin < text.size(); begin = end, end += step) {
    reply.append(parser.push(std::string_view(text).substr(begin, end - begin)));
  }
  reply.append(parser.finish());
  return reply;
}

/// Parses whole, one byte at a time and cut in two everywhere: always the same.
std::string parse(const std::string& text, const ReplyOptions& options = {},
                  const Json& tools = {}) {
  const std::string whole = shown(parse_reply(text, options, tools));
  for (const size_t step : {1, 2, 3, 7})
    EXPECT_EQ(shown(cut_reply(text, step, step, options, tools)), whole) << text;
  const size_t stride = text.size() > 2000 ? 997 : 1;
  for (size_t cut = 1; cut < text.size(); cut += stride) {
    EXPECT_EQ(shown(cut_reply(text, cut, text.size(), options, tools)), whole)
        << text << " cut at " << cut;
  }
  return whole;
}

std::string parse_calls(const std::string& inside, const Json& tools = {}) {
  return parse(kStart + inside + kEnd, {}, tools);
}

TEST(ReplyParser, SplitsReasoningFromContent) {
  EXPECT_EQ(parse("<think>\nabc</think>\n\nanswer"), "R(abc) C(answer)");
  EXPECT_EQ(parse("answer only\n"), "R() C(answer only\n)");
  EXPECT_EQ(parse("\n\n answer"), "R() C(\n\n answer)");
  EXPECT_EQ(parse("\n<think>a\n\nb \n</think> c "), "R(a\n\nb) C(c )");
  EXPECT_EQ(parse("<think></think>x"), "R() C(x)");
  EXPECT_EQ(parse(""), "R() C()");
}

TEST(ReplyParser, ReasoningThatNeverEndsIsNoContent) {
  EXPECT_EQ(parse("<think>still going"), "R(still going) C()");
  EXPECT_EQ(parse("still going", {.starts_in_reasoning = true}), "R(still going) C()");
}

TEST(ReplyParser, ReasoningOpenedByThePrompt) {
  EXPECT_EQ(parse("abc</think>answer", {.starts_in_reasoning = true}), "R(abc) C(answer)");
  EXPECT_EQ(parse("<think>abc</think>answer", {.starts_in_reasoning = true}), "R(abc) C(answer)");
}

TEST(ReplyParser, ContentHoldsNeitherTag) {
  EXPECT_EQ(parse("<think>a</think>use ```</think>``` here"), "R(a) C(use `````` here)");
  EXPECT_EQ(parse("x</think>y"), "R() C(xy)");
  EXPECT_EQ(parse("one <think>two</think> three"), "R(two) C(one three)");
}

TEST(ReplyParser, WhatOnlyLooksLikeATagIsText) {
  EXPECT_EQ(parse("a <thin b < c <|tool <think"), "R() C(a <thin b < c <|tool <think)");
  EXPECT_EQ(parse("<<think>a</think>"), "R(a) C(<)");
  EXPECT_EQ(parse("<think>x</thin</think>y"), "R(x</thin) C(y)");
}

TEST(ReplyParser, OptionsKeepTextAsItIs) {
  EXPECT_EQ(parse("<think>a</think>b", {.split_reasoning = false}), "R() C(<think>a</think>b)");
  EXPECT_EQ(parse("<think>\na\n</think>\nb\n", {.keep_white_space = true}), "R(\na\n) C(\nb\n)");
  EXPECT_EQ(parse(kStart + "[f()]" + kEnd, {.parse_tool_calls = false}), "R() C([f()])");
}

TEST(ReplyParser, TheEndOfTheTurnEndsTheReply) {
  EXPECT_EQ(parse("hi<|im_end|>\n<|im_start|>user"), "R() C(hi)");
  EXPECT_EQ(parse("<think>hi<|im_end|>x</think>y"), "R(hi) C()");
  EXPECT_EQ(parse(kStart + "[f(a='x', n=5)]" + kEnd + "<|im_end|>"),
            "R() C() f({\"a\":\"x\",\"n\":5})");
}

TEST(ReplyParser, SaysWhetherItIsReasoning) {
  ReplyParser parser;
  (void)parser.push("<think>a");
  EXPECT_TRUE(parser.is_reasoning());
  (void)parser.push("</think>");
  EXPECT_FALSE(parser.is_reasoning());
}

TEST(ReplyParser, DocumentedCallForm) {
  const std::string call = kStart + "[f(a='x', n=5)]" + kEnd;
  const std::string expected = " f({\"a\":\"x\",\"n\":5})";
  EXPECT_EQ(parse(call), "R() C()" + expected);
  EXPECT_EQ(parse("Let me see.\n" + call + "\n"), "R() C(Let me see.)" + expected);
  EXPECT_EQ(parse("before" + call + "after"), "R() C(beforeafter)" + expected);
  EXPECT_EQ(parse("<think>plan</think>\n\nText.\n\n" + call + "\n<|im_end|>"),
            "R(plan) C(Text.)" + expected);
  EXPECT_EQ(parse("<think>plan " + call + "</think>done"), "R(plan) C(done)" + expected);
  EXPECT_EQ(parse(kStart + "[f(a='x', n=5)]"), "R() C()" + expected);
  EXPECT_EQ(parse(kStart + "\n [ f ( a = 'x' ,\n n = 5 , ) ] \n" + kEnd), "R() C()" + expected);
}

TEST(ReplyParser, AnyNumberOfCalls) {
  EXPECT_EQ(parse_calls("[]"), "R() C()");
  EXPECT_EQ(parse_calls(" "), "R() C()");
  EXPECT_EQ(parse_calls("[f()]"), "R() C() f({})");
  EXPECT_EQ(parse_calls("[f(a=1), ns.g(b='y'), h()]"),
            "R() C() f({\"a\":1}) ns.g({\"b\":\"y\"}) h({})");
  EXPECT_EQ(parse_calls("f(a=1)"), "R() C() f({\"a\":1})");
  EXPECT_EQ(parse_calls("f(a='x')\ng(b='y')"), "R() C() f({\"a\":\"x\"}) g({\"b\":\"y\"})");
  EXPECT_EQ(parse(kStart + "[f()]" + kEnd + kStart + "[g()]" + kEnd), "R() C() f({}) g({})");
}

TEST(ReplyParser, PythonAndJsonValues) {
  EXPECT_EQ(parse_calls("[f(a=True, b=False, c=None, d=true, e=false, f=null)]"),
            "R() C() f({\"a\":true,\"b\":false,\"c\":null,\"d\":true,\"e\":false,\"f\":null})");
  EXPECT_EQ(
      parse_calls("[f(a=-1, b=1.5, c=1e-7, d=.5, e=5., g=1_000, h=0x1F, i=+2)]"),
      "R() C() f({\"a\":-1,\"b\":1.5,\"c\":1e-7,\"d\":0.5,\"e\":5.0,\"g\":1000,\"h\":31,\"i\":2})");
  EXPECT_EQ(parse_calls("[f(a=[1, 'x', [], {}], b={'k': [True], \"q\": None, 3: (1, 2)})]"),
            "R() C() f({\"a\":[1,\"x\",[],{}],\"b\":{\"k\":[true],\"q\":null,\"3\":[1,2]}})");
  EXPECT_EQ(parse_calls("[f(a=[1, 2,], b={'x': 1,},)]"),
            "R() C() f({\"a\":[1,2],\"b\":{\"x\":1}})");
}

TEST(ReplyParser, OddValuesBecomeStrings) {
  EXPECT_EQ(
      parse_calls("[f(unit=celsius, zip=007, e=1 + g(2, 3), t=10:30)]"),
      "R() C() f({\"unit\":\"celsius\",\"zip\":\"007\",\"e\":\"1 + g(2, 3)\",\"t\":\"10:30\"})");
  EXPECT_EQ(parse_calls("[f(a=, b=1)]"), "R() C() f({\"a\":null,\"b\":1})");
  EXPECT_EQ(parse_calls("[f(a=1, 2)]"), "R() C() f({\"a\":\"1, 2\"})");
}

/// The one argument of a call, as the text that it stands for.
std::string text_argument(const std::string& literal) {
  const std::string all = kStart + "[run(code=" + literal + ")]" + kEnd;
  parse(all);
  const Reply reply = parse_reply(all);
  EXPECT_EQ(reply.tool_calls.size(), 1u) << literal;
  if (reply.tool_calls.size() != 1) return {};
  EXPECT_TRUE(reply.tool_calls[0].is_complete) << literal;
  const Json arguments = json(reply.tool_calls[0].arguments);
  const Json* code = arguments.find("code");
  EXPECT_TRUE(code != nullptr && code->is_string()) << literal;
  return code != nullptr && code->is_string() ? code->as_string() : std::string();
}

TEST(ReplyParser, StringsAreWhatPythonReads) {
  EXPECT_EQ(text_argument(R"('plt.plot(x, "r", label=\'a\')\nprint(\'\\\\d\')')"),
            "plt.plot(x, \"r\", label='a')\nprint('\\\\d')");
  EXPECT_EQ(text_argument(R"("it's")"), "it's");
  EXPECT_EQ(text_argument(R"('say "hi"')"), "say \"hi\"");
  EXPECT_EQ(text_argument(R"('\x41\u00e9\U0001F600\101\t\q')"),
            "A\xC3\xA9\xF0\x9F\x98\x80"
            "A\t\\q");
  EXPECT_EQ(text_argument(R"('\ud83d\ude00 \ud83d \ude00')"),
            "\xF0\x9F\x98\x80 \xEF\xBF\xBD \xEF\xBF\xBD");
  EXPECT_EQ(text_argument("'\xF0\x9F\x98\x80 \xE6\x9D\xB1'"), "\xF0\x9F\x98\x80 \xE6\x9D\xB1");
  EXPECT_EQ(text_argument("'''a 'b' \"c\"\n''d'''"), "a 'b' \"c\"\n''d");
  EXPECT_EQ(text_argument("\"\"\"x\"y\"\"\""), "x\"y");
  EXPECT_EQ(text_argument("r'\\d+\\n'"), "\\d+\\n");
  EXPECT_EQ(text_argument("''"), "");
  EXPECT_EQ(text_argument("''''''"), "");
  EXPECT_EQ(text_argument("'a\nb\x01'"), "a\nb\x01");
  EXPECT_EQ(text_argument(R"('C:\users\x')"), "C:\\users\\x");
  EXPECT_EQ(text_argument(R"('\\')"), "\\");
  EXPECT_EQ(text_argument(R"('\\\'')"), "\\'");
}

TEST(ReplyParser, UnescapedQuotesStayInTheString) {
  EXPECT_EQ(text_argument("'it's here'"), "it's here");
  EXPECT_EQ(text_argument("'print('a', 'b')'"), "print('a', 'b')");
  EXPECT_EQ(text_argument("'f('x') + g('y')'"), "f('x') + g('y')");
  EXPECT_EQ(parse_calls("[f(a='it's', b=['don't', 'x'], c={'k': 'isn't'})]"),
            "R() C() f({\"a\":\"it's\",\"b\":[\"don't\",\"x\"],\"c\":{\"k\":\"isn't\"}})");
}

TEST(ReplyParser, LongArgumentsStreamOut) {
  std::string code;
  while (code.size() < 65536) code += "print(\\'x\\', \"y\")\\n# caf\xC3\xA9 \\\\ \n";
  const std::string value = text_argument("'" + code + "'");
  EXPECT_GT(value.size(), 50000u);
  ReplyParser parser;
  (void)parser.push(kStart + "[run(code='");
  size_t deltas = 0;
  for (size_t i = 0; i < 1000; ++i) deltas += parser.push("some code ").tool_calls.empty() ? 0 : 1;
  EXPECT_EQ(deltas, 1000u);
}

TEST(ReplyParser, WhatIsNoCallIsContent) {
  EXPECT_EQ(parse_calls("just words"), "R() C(just words)");
  EXPECT_EQ(parse_calls("[just words]"), "R() C([just words])");
  EXPECT_EQ(parse_calls(" [f('positional')]"), "R() C( [f('positional')])");
  EXPECT_EQ(parse_calls("[f(**{'a': 1})]"), "R() C([f(**{'a': 1})])");
  EXPECT_EQ(parse_calls("[f"), "R() C([f)");
  EXPECT_EQ(parse_calls("[f(a=1), oops]"), "R() C( oops]) f({\"a\":1})");
  EXPECT_EQ(parse_calls("[f(a=1)] tail"), "R() C(tail) f({\"a\":1})");
  EXPECT_EQ(parse_calls("{\"name\": 1}"), "R() C({\"name\": 1})");
  EXPECT_EQ(parse_calls("{broken"), "R() C({broken)");
}

TEST(ReplyParser, UnfinishedCallsAreMarked) {
  EXPECT_EQ(parse(kStart + "[f(a='x"), "R() C() f({\"a\":\"x)!");
  EXPECT_EQ(parse(kStart + "[f(a=[1, {'b': 'c'"), "R() C() f({\"a\":[1,{\"b\":\"c\")!");
  EXPECT_EQ(parse_calls("[f(a='x"), "R() C() f({\"a\":\"x\"})!");
  EXPECT_EQ(parse_calls("[f(a=[1, {'b': "), "R() C() f({\"a\":[1,{\"b\":null}]})!");
  EXPECT_EQ(parse_calls("[f(a=[1, {'b"), "R() C() f({\"a\":[1,{\"b\":null}]})!");
  EXPECT_EQ(parse_calls("[f(a={1, 2})]"), "R() C(, 2})]) f({\"a\":{\"1\":null}})!");
}

TEST(ReplyParser, RepeatedKeysAreLeftOut) {
  EXPECT_EQ(parse_calls("[f(a=1, a='x', b=2)]"), "R() C() f({\"a\":1,\"b\":2})");
  EXPECT_EQ(parse_calls("[f(a={'k': 1, 'k': [2, {'k': 3}], 'm': 4})]"),
            "R() C() f({\"a\":{\"k\":1,\"m\":4}})");
}

TEST(ReplyParser, JsonCalls) {
  EXPECT_EQ(
      parse_calls("[{\"name\": \"f\", \"arguments\": {\"a\": [1, \"x\"]}}, {\"name\": \"g\"}]"),
      "R() C() f({\"a\":[1,\"x\"]}) g({})");
  EXPECT_EQ(parse_calls("{\"name\": \"f\", \"parameters\": {\"a\": 1}}"), "R() C() f({\"a\":1})");
  EXPECT_EQ(parse_calls("\n{\"function\": {\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}}\n"),
            "R() C() f({\"a\":1})");
  EXPECT_EQ(parse(kStart + "{\"name\": \"f\", \"arguments\": {}}"), "R() C() f({})");
}

TEST(ReplyParser, SchemasDecideBetweenTextAndOtherTypes) {
  const Json tools =
      json(R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {
      "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": ["number", "null"]}, "b": {"type": "boolean"},
      "l": {"type": "array"}, "o": {"type": "object"}}}}}])");
  EXPECT_EQ(
      parse_calls("[f(s=5, i='5', n='2.50', b='True', l='[1, \"x\"]', o='{\"a\": 1}')]", tools),
      "R() C() f({\"s\":\"5\",\"i\":5,\"n\":2.50,\"b\":true,\"l\":[1,\"x\"],\"o\":{\"a\":1}})");
  EXPECT_EQ(parse_calls("[f(s=True, i='five', n='', b='yes', l='x', o='[]')]", tools),
            "R() C() "
            "f({\"s\":\"True\",\"i\":\"five\",\"n\":\"\",\"b\":\"yes\",\"l\":\"x\",\"o\":\"[]\"})");
  EXPECT_EQ(parse_calls("[f(s=None, i=7, n=None, q='x')]", tools),
            "R() C() f({\"s\":null,\"i\":7,\"n\":null,\"q\":\"x\"})");
  EXPECT_EQ(parse_calls("[f(i='it's', s='a')]", tools), "R() C() f({\"i\":\"it's\",\"s\":\"a\"})");
}

TEST(ReplyParser, NestingIsBounded) {
  const std::string deep = "[f(a=" + std::string(1000, '[') + ")]";
  const Reply reply = parse_reply(kStart + deep + kEnd);
  ASSERT_EQ(reply.tool_calls.size(), 1u);
  EXPECT_FALSE(reply.tool_calls[0].is_complete);
  json(reply.tool_calls[0].arguments);
}

}  // namespace
}  // namespace rill::text
