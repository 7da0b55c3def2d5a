// SPDX-License-Identifier: Apache-2.0
// The template interpreter: what Jinja itself makes of small templates, what is refused at load,
// and the sandbox.
#include <algorithm>

#include "text/chat_template.h"
#include "text/jinja/parser.h"
#include "text/jinja/python_text.h"
#include "text/jinja/string_literal.h"
#include "unit/text/text_test_data.h"

namespace rill::text::jinja {
namespace {

Result<std::string> render(std::string_view source, const Json& context = Json::object(),
                           const Limits& limits = {}, const DateTime& now = {}) {
  RILL_ASSIGN_OR_RETURN(const std::vector<Statement> statements, parse_template(source));
  Context names;
  for (const auto& [name, value] : context.members())
    names.emplace_back(name, Value::from_json(value));
  return run_template(statements, std::move(names), now, limits);
}

TEST(Jinja, MakesWhatJinjaMakes) {
  const Json document = test::read_data_json("chat/jinja_cases.json");
  const Json::Array& clock = document.find("now")->items();
  const auto part = [&clock](size_t i) { return static_cast<int>(clock[i].as_int()); };
  const DateTime now = {part(0), part(1), part(2), part(3), part(4), part(5)};
  ASSERT_GT(document.find("cases")->items().size(), 120u);
  for (const Json& item : document.find("cases")->items()) {
    const std::string& source = item.find("template")->as_string();
    const Result<std::string> output = render(source, *document.find("context"), {}, now);
    const Json* expected = item.find("output");
    if (expected == nullptr) {
      EXPECT_FALSE(output) << source << " -> " << *output;
    } else if (output) {
      EXPECT_EQ(*output, expected->as_string()) << source;
    } else {
      ADD_FAILURE() << source << ": " << output.error().message;
    }
  }
}

void expect_refused(std::string_view source, ErrorCode code, const std::string& named) {
  const Result<std::vector<Statement>> parsed = parse_template(source);
  ASSERT_FALSE(parsed) << source;
  EXPECT_EQ(parsed.error().code, code) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find(named), std::string::npos) << parsed.error().message;
}

TEST(ParseTemplate, RefusesWhatItLacksWithLineAndName) {
  const auto code = ErrorCode::kUnsupported;
  expect_refused("a\n\n{{ x | frobnicate }}", code,
                 "line 3: this build lacks the filter \"frobnicate\"");
  expect_refused("{{ x is frobnicated }}", code, "the test \"frobnicated\"");
  expect_refused("\n{{ x.append(1) }}", code, "line 2: this build lacks the method \"append\"");
  expect_refused("{% include 'x' %}", code, "the statement \"include\"");
  expect_refused("{% extends 'x' %}", code, "the statement \"extends\"");
  expect_refused("{% call m() %}{% endcall %}", code, "the statement \"call\"");
  expect_refused("{% raw %}{% endraw %}", code, "the statement \"raw\"");
  expect_refused("{% for x in y recursive %}{% endfor %}", code, "recursive loops");
  expect_refused("{{ f(*x) }}", code, "unpacked arguments");
  expect_refused("{{ 2 ** 3 }}", code, "\"**\"");
}

TEST(ParseTemplate, NamesTheLineOfSyntaxErrors) {
  const auto code = ErrorCode::kInvalidFormat;
  const std::pair<const char*, const char*> cases[] = {
      {"a\n{{ x", "line 2: expected \"}}\""},
      {"{% if x %}", "expected \"endif\""},
      {"{% if x %}{% endfor %}", "unknown statement \"endfor\""},
      {"{% endif %}", "unknown statement \"endif\""},
      {"{{ }}", "expected an expression"},
      {"{{ 1 + }}", "got \"}}\", expected an expression"},
      {"{{ (1 }}", "unexpected \"}\""},
      {"{{ 1) }}", "unexpected \")\""},
      {"{{ 'a }}", "expected the end of the string"},
      {"{# a", "expected the end of the comment"},
      {"{{ a ? b }}", "unexpected character \"?\""},
      {"{{ 12ab }}", "bad number"},
      {"{{ '\\x4' }}", "bad escape"},
      {"{{ 99999999999999999999 }}", "too large"},
      {"{% for true in x %}{% endfor %}", "cannot assign to \"true\""},
      {"{% for x of y %}{% endfor %}", "expected \"in\""},
      {"{% break %}", "outside a loop"},
      {"{% set a, b %}{% endset %}", "expected \"=\""},
      {"{{ f(a=1, 2) }}", "positional argument follows"},
      {"{% macro m(1) %}{% endmacro %}", "expected a name"},
  };
  for (const auto& [source, named] : cases) expect_refused(source, code, named);
}

TEST(ParseTemplate, BoundsNesting) {
  const std::string open(5000, '('), minus(5000, '-');
  std::string chain = "{{ a", ifs, nots = "{{ ", elifs = "{% if a %}", dots = "{{ a",
              filters = "{{ a";
  for (int i = 0; i < 5000; ++i) {
    chain += " + a";
    ifs += "{% if a %}";
    nots += "not ";
    elifs += "{% elif a %}";
    dots += ".a";
    filters += "|trim";
  }
  for (const std::string& source :
       {"{{ " + open + "1" + std::string(5000, ')') + " }}", "{{ " + minus + "1 }}", chain + " }}",
        ifs, nots + "a }}", elifs + "{% endif %}", dots + " }}", filters + " }}"}) {
    const Result<std::vector<Statement>> parsed = parse_template(source);
    ASSERT_FALSE(parsed) << source.substr(0, 20);
    EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported) << parsed.error().message;
  }
}

void expect_fails(std::string_view source, const std::string& named, const Limits& limits = {}) {
  const Result<std::string> output = render(source, Json::object(), limits);
  ASSERT_FALSE(output) << source;
  EXPECT_EQ(output.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(output.error().message.find(named), std::string::npos) << output.error().message;
}

TEST(RunTemplate, BoundsStepsDepthAndText) {
  const std::string too_much = "more text than a rendering may";
  expect_fails(
      "{% set r = range(999) %}{% for a in r %}{% for b in r %}{{ a }}{% endfor %}{% endfor %}",
      "too many steps", {.max_steps = 10000});
  expect_fails("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested too deeply");
  expect_fails(
      "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x "
      "%}{% endfor %}",
      too_much, {.max_bytes = 1 << 20});
  expect_fails(
      "{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
      "nested too deeply");
  expect_fails("{{ 'a' * 99999999999 }}", too_much);
  expect_fails("{{ [1] * 99999999999 }}", too_much);
  expect_fails("{{ range(99999999999) }}", too_much);
  expect_fails("{{ range(-9223372036854775807, 9223372036854775807) }}", too_much);
  expect_fails("{% for i in range(99) %}{{ 'aaaaaaaaaa' }}{% endfor %}", "the prompt is too long",
               {.max_output_bytes = 100});
}

TEST(RunTemplate, HandlesCannotBeStored) {
  expect_fails("{% set ns = namespace() %}{% set ns.x = ns %}", "a namespace cannot be stored");
  expect_fails("{% macro m() %}{% endmacro %}{{ [m] }}", "a macro cannot be stored");
  expect_fails("{% macro m() %}{% endmacro %}{{ [{}] | map(attribute='a', default=m) | list }}",
               "cannot be stored");
  expect_fails("{% for i in [1] %}{{ {'a': loop} }}{% endfor %}", "a loop cannot be stored");
}

TEST(RunTemplate, ErrorsNameLineAndReason) {
  expect_fails("a\n{{ x.y }}", "chat template: line 2: \"x\" is undefined, it has no \"y\"");
  expect_fails("{{ raise_exception('only text') }}", "line 1: the template refuses: only text");
  expect_fails("{{ 9223372036854775807 + 1 }}", "an integer is too large");
  expect_fails("{{ strftime_now('%Q') }}", "unknown directive");
}

TEST(FloatText, IsPythonsShortestForm) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},           {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},        {123456789012345680.0, "1.2345678901234568e+17"},
      {0.0001, "0.0001"},     {0.00001, "1e-05"},
      {-2.5e-10, "-2.5e-10"}, {1e100, "1e+100"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(float_text(value), text);
}

TEST(UnescapePythonString, PairsSurrogatesAndKeepsUnknownEscapes) {
  EXPECT_EQ(unescape_python_string("\\ud83d\\ude00"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(unescape_python_string("\\ud83dx"), "\xEF\xBF\xBDx");
  EXPECT_EQ(unescape_python_string("\\U0001F600"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(unescape_python_string("\\q\\0\\7"), std::string("\\q\0\7", 4));
  EXPECT_EQ(unescape_python_string("\\u12"), std::nullopt);
  EXPECT_EQ(unescape_python_string("\\U00110000"), std::nullopt);
}

}  // namespace
}  // namespace rill::text::jinja
