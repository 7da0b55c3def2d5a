// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "text/grammar/json_schema.h"
#include "text/grammar/tool_calls.h"
#include "text/reply_parser.h"
#include "unit/text/grammar_support.h"
#include "unit/text/text_test_data.h"

namespace rill::text::grammar {
namespace {

using test::Language;
using test::message_of;

void expect_texts(const std::string& schema, const std::vector<std::string>& valid,
                  const std::vector<std::string>& invalid) {
  Language language(json_schema_grammar(schema));
  if (language.grammar() == nullptr) return;
  const Json root = *parse_json(schema);
  for (const std::string& text : valid) {
    EXPECT_TRUE(language.has(text)) << schema << " on " << text;
    EXPECT_TRUE(test::is_valid(*parse_json(text), root, root)) << schema << " on " << text;
  }
  for (const std::string& text : invalid)
    EXPECT_FALSE(language.has(text)) << schema << " on " << text;
}

TEST(JsonSchema, TakesScalars) {
  expect_texts(R"({"type": "boolean"})", {"true", "false"}, {"True", "null", " true", "true "});
  expect_texts(R"({"type": ["null", "integer"]})", {"null", "0", "-12", "999999999999999999"},
               {"1.5", "-0", "01", "1e3", "1000000000000000000"});
  expect_texts(R"({"type": "number"})", {"0", "-0", "1.25", "-1e5", "2E-10", "0.0001"},
               {".5", "1.", "1e", "1e999", "+1", "0x1"});
  expect_texts(R"({"type": "string"})",
               {R"("")", R"("a\"\\\/\n\u00e9")", R"("\ud83d\ude00")", "\"\xc3\xa4\""},
               {"\"", "\"\n\"", R"("\ud83d")", R"("\x")", "\"\xff\"", R"("\udc00\ud83d")"});
  expect_texts(R"({"type": "string", "minLength": 2, "maxLength": 3})",
               {R"("ab")", R"("\u00e9\ud83d\ude00x")", "\"\xc3\xa4\xc3\xa4\""},
               {R"("a")", R"("abcd")"});
  expect_texts(R"({"enum": ["a\"b", 1, null, [1, {"x": true}], 2.5]})",
               {R"("a\"b")", "1", "null", R"([1, {"x": true}])", R"([1,{"x":true}])", "2.5"},
               {"2", "\"a\""});
  expect_texts(R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"});
  expect_texts(R"({"const": "SCHEMA_ENFORCED"})", {"\"SCHEMA_ENFORCED\""}, {"\"SCHEMA\""});
  expect_texts(R"({"type": "integer", "nullable": true, "title": "x"})", {"null", "7"}, {"\"7\""});
}

TEST(JsonSchema, TakesObjectsInTheOrderOfTheSchema) {
  const std::string schema = R"({"type": "object", "properties": {
      "a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "null"}},
      "required": ["b"]})";
  expect_texts(schema,
               {R"({"a": 1, "b": true, "c": null})", R"({"a":1,"b":true,"c":null})",
                R"({"b": false})", R"({"b": false,"c":null})"},
               {"{}", R"({"b": true, "a": 1})", R"({"a": 1})", R"({"a": 1, "c": null})",
                R"({"b":  true})", R"({ "b": true})", R"({"b": true, })", R"({"b": true, "d": 1})",
                R"({"b" : true})", "{\"b\":\ntrue}"});
  expect_texts(R"({"properties": {"a": {}, "b": {}}, "type": "object"})",
               {"{}", R"({"a": [1, {}]})", R"({"b": "x"})", R"({"a": 1, "b": 2})"},
               {R"({"b": 1, "a": 2})", R"({"a": 1 "b": 2})", R"({, "b": 2})"});
  expect_texts(R"({"type": "object", "properties": {"a": false, "b": true}})", {R"({"b": 1})"},
               {R"({"a": 1})"});
  expect_texts(R"({"type": "object", "properties": {}, "additionalProperties": false})", {"{}"},
               {R"({"a": 1})"});
}

TEST(JsonSchema, TakesOtherPropertiesWhereAskedFor) {
  expect_texts(R"({"type": "object", "properties": {"ab": {"type": "integer"}, "b": {}},
                   "additionalProperties": {"type": "boolean"}, "required": ["ab"]})",
               {R"({"ab": 1})", R"({"ab": 1, "a": true, "abc": false, "": true})",
                R"({"ab": 1, "b": 2, "c": true})"},
               {R"({"ab": 1, "c": 1})", R"({"ab": 1, "ab": true})",
                R"({"ab": 1, "b": 1, "b": true})", R"({"c": true, "ab": 1})"});
  expect_texts(R"({"type": "object", "additionalProperties": {"type": "integer"},
                   "minProperties": 1, "maxProperties": 2})",
               {R"({"x": 1})", R"({"x": 1, "\"": 2})"}, {"{}", R"({"x": 1, "y": 2, "z": 3})"});
  expect_texts(R"({"type": "object", "required": ["z"], "properties": {"a": {"type": "null"}},
                   "additionalProperties": true})",
               {R"({"z": 1})", R"({"a": null, "z": "q", "k": 2})"}, {R"({"a": null})"});
}

TEST(JsonSchema, TakesArraysAndTuples) {
  expect_texts(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
               {"[1]", "[1, 2,3]"}, {"[]", "[1, 2, 3, 4]", "[1,  2]", "[ 1]", "[1,]"});
  expect_texts(R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}],
                   "items": {"type": "null"}, "minItems": 1, "maxItems": 4})",
               {"[1]", "[1, true]", "[1, true, null]", "[1, true, null, null]"},
               {"[]", "[true]", "[1, null]", "[1, true, null, null, null]"});
  expect_texts(R"({"type": "array", "prefixItems": [{"type": "integer"}, {}], "items": false})",
               {"[]", "[1]", "[1, {}]"}, {"[1, 2, 3]"});
  expect_texts(R"({"type": "array", "items": {"type": "integer"}, "maxItems": 0})", {"[]"},
               {"[1]"});
  expect_texts(R"({"type": "array"})", {"[]", R"([1, "a", [[]], {"k": null}])"}, {"[1,]"});
}

TEST(JsonSchema, CombinesSchemas) {
  expect_texts(
      R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}, {"$ref": "#/$defs/o"}],
                   "$defs": {"o": {"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}}})",
      {"5", "\"a\"", R"({"k": 1})"}, {"\"ab\"", "{}", "null"});
  expect_texts(
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                   "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
      {R"({"a": 1})", R"({"b": 1})", R"({"a": 1, "b": 1})"}, {"{}"});
  expect_texts(R"({"oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "x"}, "n": {"type": "integer"}},
                     "required": ["kind", "n"]},
                    {"type": "object", "properties": {"kind": {"const": "y"}}, "required": ["kind"]}]})",
               {R"({"kind": "x", "n": 1})", R"({"kind": "y"})"}, {R"({"kind": "x"})"});
  expect_texts(
      R"({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                             {"$ref": "#/$defs/b"}],
                   "$defs": {"b": {"type": "object", "properties": {"b": {"type": "string", "minLength": 1}}}}})",
      {R"({"a": 1, "b": "x"})", R"({"a": 1})"}, {R"({"b": "x"})", R"({"a": 1, "b": ""})"});
  expect_texts(R"({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5}, {"minimum": 4}]})",
               {"4", "5"}, {"3", "6"});
  expect_texts(
      R"({"$ref": "#/$defs/a~1b", "description": "x", "$defs": {"a/b": {"type": "null"}}})",
      {"null"}, {"1"});
}

TEST(JsonSchema, FollowsReferencesToThemselves) {
  const std::string tree = R"({"$defs": {"node": {"type": "object", "properties": {
      "value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
      "required": ["value", "children"]}}, "$ref": "#/$defs/node"})";
  expect_texts(
      tree,
      {R"({"value": 1, "children": []})",
       R"({"value": 1, "children": [{"value": 2, "children": [{"value": 3, "children": []}]}]})"},
      {R"({"value": 1})", R"({"value": 1, "children": [{"value": 2}]})"});
  std::string deep;
  for (int i = 0; i < 30; ++i) deep += R"({"value": 1, "children": [)";
  EXPECT_FALSE(Language(json_schema_grammar(tree)).has_prefix(deep));  // it has to end somewhere
  expect_texts(R"({"type": "object", "properties": {"next": {"$ref": "#", "nullable": true}},
                   "required": ["next"]})",
               {R"({"next": {"next": null}})"}, {R"({"next": {}})"});
  expect_texts(R"({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]})",
               {"1", "[[], [1, [2]]]"}, {"[true]"});
}

TEST(JsonSchema, TakesPatternsAndFormats) {
  expect_texts(R"({"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"})", {R"("AB-123")"},
               {R"("AB-12")", R"("xAB-123")"});
  expect_texts(R"({"type": "string", "pattern": "b+"})", {R"("abc")", R"("b")", R"("\n\"b")"},
               {R"("ac")"});
  expect_texts(R"({"type": "string", "pattern": "^a|b$"})", {R"("ax")", R"("xb")"}, {R"("xa")"});
  expect_texts(R"({"type": "string", "pattern": "^\"\\\\\\n.$"})", {R"("\"\\\nx")"},
               {R"("\"\\nx")"});
  expect_texts(R"({"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4})",
               {R"("ab")", R"("abcd")"}, {R"("a")", R"("abcde")"});
  expect_texts(R"({"type": "string", "pattern": "^a{2}(b|c)$", "minLength": 3, "maxLength": 9})",
               {R"("aab")"}, {R"("aa")"});
  expect_texts(R"({"type": "string", "format": "date"})", {R"("2024-02-28")", R"("1999-12-31")"},
               {R"("2024-02-30")", R"("2024-13-01")", R"("2024-4-1")"});
  expect_texts(R"({"type": "string", "format": "date-time"})",
               {R"("2024-02-28T23:59:59Z")", R"("2024-02-28T00:00:00.123+02:00")"},
               {R"("2024-02-28 23:59:59Z")", R"("2024-02-28T24:00:00Z")"});
  expect_texts(R"({"type": "string", "format": "time"})", {R"("10:00:00Z")"}, {R"("10:00")"});
  expect_texts(R"({"type": "string", "format": "uuid"})",
               {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"});
  expect_texts(R"({"type": "string", "format": "ipv4"})", {R"("192.168.0.255")", R"("0.0.0.0")"},
               {R"("256.1.1.1")", R"("01.1.1.1")", R"("1.1.1")"});
  expect_texts(R"({"type": "string", "format": "email"})", {R"("a.b@example.org")"},
               {R"("a@b")", R"("@b.de")"});
  expect_texts(R"({"type": "integer", "format": "int32"})", {"1"}, {});
}

TEST(JsonSchema, TakesIntegersBetweenBounds) {
  const int bounds[] = {-120, -100, -99, -10, -9, -1, 0, 1, 7, 9, 10, 11, 99, 100, 105, 120};
  for (const int low : bounds) {
    for (const int high : bounds) {
      if (low > high) continue;
      Language language(
          json_schema_grammar("{\"type\": \"integer\", \"minimum\": " + std::to_string(low) +
                              ", \"maximum\": " + std::to_string(high) + "}"));
      for (int n = -130; n <= 130; ++n) {
        EXPECT_EQ(language.has(std::to_string(n)), low <= n && n <= high)
            << low << " to " << high << ": " << n;
      }
    }
  }
  expect_texts(R"({"type": "integer", "exclusiveMinimum": -1.5, "exclusiveMaximum": 2})",
               {"-1", "0", "1"}, {"-2", "2", "-0"});
  expect_texts(R"({"type": "integer", "minimum": 0, "exclusiveMinimum": true})", {"1"}, {"0"});
  expect_texts(R"({"type": "integer", "maximum": 9223372036854775807, "minimum": 1})",
               {"999999999999999999"}, {"0"});
}

TEST(JsonSchema, TakesNumbersBetweenBounds) {
  const char* bounds[] = {"-10.5", "-2", "-1.25", "-0.05", "0", "0.05",
                          "0.5",   "1",  "1.25",  "3.75",  "10"};
  const char* keys[][2] = {{"minimum", "maximum"}, {"exclusiveMinimum", "exclusiveMaximum"}};
  size_t spelled = 0;
  for (const char* low : bounds) {
    for (const char* high : bounds) {
      for (const auto& [min, max] : keys) {
        const std::string schema = std::string(R"({"type": "number", ")") + min + "\": " + low +
                                   ", \"" + max + "\": " + high + "}";
        Result<Grammar> grammar = json_schema_grammar(schema);
        const double from = std::atof(low);
        const double to = std::atof(high);
        const bool is_open = min[0] == 'e';
        EXPECT_EQ(grammar.has_value(), from < to || (from == to && !is_open)) << schema;
        if (!grammar) continue;
        Language language(std::move(grammar));
        for (int n = -1100; n <= 1100; ++n) {
          const std::string text = Json::number(n / 100.0).dump();
          const double value = n / 100.0;
          const bool inside = is_open ? from < value && value < to : from <= value && value <= to;
          EXPECT_TRUE(inside || !language.has(text)) << schema << " on " << text;
          EXPECT_TRUE(!inside || language.has(text)) << schema << " on " << text;
          spelled += inside ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(spelled, 10000u);
  expect_texts(R"({"type": "number", "minimum": 0})", {"0", "0.0", "12.5"}, {"-1", "-0.1", "1e3"});
}

TEST(JsonSchema, NamesThePathOfWhatItRefuses) {
  const auto message = [](const std::string& schema) {
    return message_of(json_schema_grammar(schema));
  };
  EXPECT_EQ(
      message(R"({"type": "object", "properties": {"a/b": {"type": "integer", "multipleOf": 3}}})"),
      "json schema: #/properties/a~1b/multipleOf: unsupported keyword");
  for (const char* keyword : {"not", "if", "patternProperties", "propertyNames", "contains",
                              "unevaluatedProperties", "dependentRequired", "whatever"}) {
    EXPECT_EQ(message("{\"items\": {\"" + std::string(keyword) + "\": {}}}"),
              "json schema: #/items/" + std::string(keyword) + ": unsupported keyword");
  }
  EXPECT_EQ(message(R"({"type": "strin"})"), "json schema: #/type: expected names of types");
  EXPECT_EQ(message(R"({"type": "array", "uniqueItems": true})"),
            "json schema: #/uniqueItems: unsupported keyword");
  EXPECT_EQ(message(R"({"$ref": "other.json"})"),
            "json schema: #/$ref: got other.json, expected \"#\" or \"#/...\"");
  EXPECT_EQ(message(R"({"anyOf": [{"$ref": "#/$defs/x"}]})"),
            "json schema: #/anyOf/0/$ref: got #/$defs/x, which does not exist");
  EXPECT_EQ(message(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})"),
            "json schema: #/oneOf/1: may be valid together with alternative 0; use anyOf");
  EXPECT_EQ(message(R"({"type": "string", "pattern": "^(?!a)b"})"),
            "json schema: #/pattern: regex: byte 1: lookahead assertions: not supported");
  EXPECT_EQ(message(R"({"type": "string", "pattern": "a+", "maxLength": 3})"),
            "json schema: #/pattern: does not keep minLength and maxLength by itself");
  EXPECT_EQ(
      message(R"({"type": "string", "format": "hostname"})"),
      "json schema: #/format: got hostname, expected date, time, date-time, uuid, email, ipv4 "
      "or ipv6");
  EXPECT_EQ(message(R"({"type": "integer", "minimum": 3, "maximum": 2})"),
            "json schema: #: no number lies between the bounds");
  EXPECT_EQ(message(R"({"type": "string", "minLength": 3, "maxLength": 2})"),
            "json schema: #/minLength: more than maxLength");
  EXPECT_EQ(message(R"({"type": "string", "minLength": -3})"),
            "json schema: #/minLength: expected an integer from 0 to 1000000000");
  EXPECT_EQ(message(R"({"required": ["b"], "properties": {}, "additionalProperties": false})"),
            "json schema: #/required: requires b, which additionalProperties forbids");
  EXPECT_EQ(message(R"({"allOf": [{"properties": {"a": {}}, "additionalProperties": false},
                                  {"properties": {"b": {}}}]})"),
            "json schema: #/allOf/0/additionalProperties: stands beside properties of another part "
            "of an allOf");
  EXPECT_EQ(message(R"({"enum": []})"), "json schema: #/enum: expected an array with values");
  EXPECT_EQ(message(R"({"enum": ["a"], "minLength": 2})"),
            "json schema: #/minLength: stands beside enum or const");
  EXPECT_EQ(message(R"({"items": [{}]})"),
            "json schema: #/items: got an array; use prefixItems for tuples");
  EXPECT_EQ(message("false"), "json schema: #: no value is valid");
  EXPECT_EQ(message("3"), "json schema: #: expected an object or a boolean");
  EXPECT_EQ(message("{"), "json schema: parse JSON: byte 1: got the end, expected a key");
  EXPECT_EQ(message(R"({"$ref": "#"})"), "json schema: #: no value is valid");
  EXPECT_NE(message(R"({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})").find("too many references"),
            std::string::npos);
  EXPECT_EQ(
      message(R"({"$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
                        "required": ["a"]}}, "$ref": "#/$defs/a"})"),
      "json schema: #: no value is valid");
}

TEST(JsonSchema, EndsHostileSchemasWithAnError) {
  // Every reference leads to two of the next.
  std::string doubling = R"({"$ref": "#/$defs/d0", "$defs": {"end": {"type": "null"})";
  for (int i = 0; i < 300; ++i) {
    const std::string next =
        "{\"$ref\": \"#/$defs/d" + std::to_string(i + 1) + "\", \"type\": \"array\"}";
    doubling += ", \"d" + std::to_string(i) + "\": {\"type\": \"array\", \"items\": " + next +
                ", \"prefixItems\": [" + next + "]}";
  }
  doubling += R"(, "d300": {"type": "array"}}})";
  EXPECT_NE(message_of(json_schema_grammar(doubling)), "accepted");
  std::string nested = "true";
  for (int i = 0; i < 60; ++i) nested = "{\"items\": " + nested + "}";
  EXPECT_EQ(message_of(json_schema_grammar(nested)), "accepted");
}

TEST(JsonObject, TakesAnyObjectButNoRepeatedKey) {
  Language language(json_object_grammar());
  EXPECT_TRUE(language.has(R"({})"));
  EXPECT_TRUE(language.has(R"({"a": [1, {"b": null}], "c": "x"})"));
  EXPECT_FALSE(language.has("[]"));
  EXPECT_FALSE(language.has_prefix(std::string(40, '{')));
  const Tokenizer tokenizer = text::test::text_tokenizer();
  const auto trie = TokenTrie::create(tokenizer);
  auto matcher = TokenMatcher::create(language.grammar(), trie, {7});
  ASSERT_TRUE(matcher);
  const auto push = [&](const std::string& text) {
    for (const char c : text) {
      const auto token = *tokenizer.encode(std::string(1, c));
      ASSERT_TRUE(matcher->accept(token[0])) << c;
    }
  };
  push(R"({"k":{"k":1,"j\"":2},"l":[{"k":1}],"k)");
  std::vector<uint64_t> words(16);
  ASSERT_TRUE(matcher->allowed(words));
  const int32_t quote = *tokenizer.find("\"");
  EXPECT_FALSE(test::has_token(words, quote));
  EXPECT_FALSE(matcher->accept(quote));
  push(R"(k":{"k)");
  ASSERT_TRUE(matcher->allowed(words));
  EXPECT_TRUE(test::has_token(words, quote));
}

/// Random texts of a schema: they parse and are valid.
void expect_random_texts_to_be_valid(const std::string& schema, uint32_t runs) {
  static const auto trie = TokenTrie::create(text::test::text_tokenizer());
  Language language(json_schema_grammar(schema));
  ASSERT_NE(language.grammar(), nullptr) << schema;
  const Json root = *parse_json(schema);
  size_t ended = 0;
  for (uint32_t seed = 0; seed < runs; ++seed) {
    auto matcher = TokenMatcher::create(language.grammar(), trie, {7});
    ASSERT_TRUE(matcher);
    const test::Walk walk = test::random_walk(*matcher, *trie, 7, seed, 60, 400);
    std::string text;
    for (const int32_t token : walk.tokens) text += trie->token_bytes(token);
    if (!walk.has_ended) {
      EXPECT_TRUE(language.has_prefix(text)) << text;
      continue;
    }
    ++ended;
    const Result<Json> json = parse_json(text);
    ASSERT_TRUE(json) << json.error().message << ": " << text;
    EXPECT_TRUE(test::is_valid(*json, root, root)) << schema << " on " << text;
  }
  EXPECT_GT(ended, runs / 4) << schema;
}

TEST(JsonSchema, RandomTextsAreValid) {
  expect_random_texts_to_be_valid(
      R"({"type": "object", "properties": {"answer": {"type": "integer"},
          "guard": {"const": "SCHEMA_ENFORCED"}}, "required": ["answer", "guard"]})",
      30);
  expect_random_texts_to_be_valid(
      R"({"type": "object", "additionalProperties": {"type": ["number", "boolean"]},
          "properties": {"a": {"type": "string", "pattern": "x[0-9]?$"}, "b": {"minimum": -3.5, "maximum": 1e3}}})",
      30);
  expect_random_texts_to_be_valid(
      R"({"$defs": {"t": {"type": "object", "properties": {"n": {"enum": ["a", "b"]},
          "c": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}}, "required": ["n"]}},
          "type": "array", "items": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "string", "maxLength": 9}]},
          "minItems": 1, "maxItems": 4})",
      30);
  expect_random_texts_to_be_valid(R"({"type": "object"})", 60);
}

/// Forty tools with a few kinds of parameters.
std::string forty_tools() {
  std::string out = "[";
  for (int i = 0; i < 40; ++i) {
    out += (i > 0 ? ", " : "") +
           std::string(R"({"type": "function", "function": {"name": "tool_)") + std::to_string(i) +
           R"(", "description": "x", "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "maxLength": 12},
        "unit": {"enum": ["C", "it's", true, null]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "where": {"type": "object", "properties": {"x": {"type": "number"}, "ok": {"type": "boolean"}},
                  "required": ["x"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z\\n']{1,5}$"}, "maxItems": 2}},
        "required": ["city", "days"]}}})";
  }
  return out + "]";
}

TEST(ToolCallGrammar, CallsAreReadBackByTheParser) {
  const Tokenizer tokenizer = text::test::text_tokenizer();
  const auto trie = TokenTrie::create(tokenizer);
  const std::string tools_text = forty_tools();
  const Json tools = *parse_json(tools_text);
  const Json& parameters = *tools.items()[0].find("function")->find("parameters");
  ToolCallGrammarOptions options;
  options.max_calls = 2;
  Language language(tool_call_grammar(tools_text, options));
  size_t calls = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    auto matcher = TokenMatcher::create(language.grammar(), trie, {7});
    ASSERT_TRUE(matcher);
    const test::Walk walk = test::random_walk(*matcher, *trie, 7, seed, 80, 500);
    if (!walk.has_ended) continue;
    EXPECT_EQ(walk.tokens.front(), 10);
    EXPECT_EQ(walk.tokens.back(), 11);
    ReplyParser parser(ReplyOptions{}, tools);
    Reply reply;
    reply.append(parser.push(tokenizer.decode(walk.tokens, false)));
    reply.append(parser.finish());
    ASSERT_FALSE(reply.tool_calls.empty());
    EXPECT_EQ(reply.content, "");
    for (const ToolCall& call : reply.tool_calls) {
      ++calls;
      EXPECT_TRUE(call.is_complete);
      const Result<Json> arguments = parse_json(call.arguments);
      ASSERT_TRUE(arguments) << call.arguments;
      EXPECT_TRUE(test::is_valid(*arguments, parameters, parameters))
          << tokenizer.decode(walk.tokens, false) << " as " << call.arguments;
    }
  }
  EXPECT_GT(calls, 40u);
}

TEST(ToolCallGrammar, LimitsCallsToOneTool) {
  ToolCallGrammarOptions options;
  options.tool = "tool_7";
  options.starts_inside = true;
  Language language(tool_call_grammar(forty_tools(), options));
  EXPECT_TRUE(language.has_prefix("[tool_7(city='a', days=3)]"));
  EXPECT_TRUE(language.has_prefix("[tool_7(city=\"a\",unit=True,days=14), tool_7("));
  EXPECT_FALSE(language.has_prefix("[tool_8("));
  EXPECT_FALSE(language.has_prefix("[tool_7(days"));
  EXPECT_FALSE(language.has_prefix("[tool_7(city='a')"));
}

TEST(ToolCallGrammar, NamesThePathOfWhatItRefuses) {
  const auto message = [](const std::string& tools, const std::string& tool = "") {
    ToolCallGrammarOptions options;
    options.tool = tool;
    return message_of(tool_call_grammar(tools, options));
  };
  EXPECT_EQ(message("[]"), "tools: expected an array with tools, and calls");
  EXPECT_EQ(message(R"([{"name": "a b"}])"),
            "tools: #/0/name: expected letters, digits, _, - and .");
  EXPECT_EQ(message(R"([{"name": "a"}])", "b"), "tools: no tool is named b");
  EXPECT_EQ(message(R"([{"function": {"name": "a", "parameters": {"type": "object",
                        "properties": {"x": {"not": {}}}}}}])"),
            "json schema: #/0/function/parameters/properties/x/not: unsupported keyword");
  EXPECT_EQ(message(R"([{"name": "a", "parameters": {"properties": {"x y": {}}}}])"),
            "json schema: #/0/parameters/properties: got the name x y, expected letters, digits, _ "
            "and -");
  EXPECT_EQ(message(R"([{"name": "a"}, {"name": "b", "parameters": {}}])"), "accepted");
}

}  // namespace
}  // namespace rill::text::grammar
