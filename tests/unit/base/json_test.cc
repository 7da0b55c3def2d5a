// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace rill {
namespace {

Json parse(std::string_view text) {
  Result<Json> json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text << ": " << (json ? "" : json.error().message);
  return json ? std::move(json).value() : Json();
}

std::string error_of(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = parse_json(text, limits);
  EXPECT_FALSE(json.has_value()) << text;
  if (json) return "";
  EXPECT_EQ(json.error().code, ErrorCode::kInvalidFormat);
  return json.error().message;
}

TEST(ParseJson, ReadsEachType) {
  const Json json = parse(" {\"a\": [null, true, false, -12, 1.5e1], \"b\": \"x\"} \n");
  ASSERT_TRUE(json.is_object());
  const Json::Array& items = json.find("a")->items();
  ASSERT_EQ(items.size(), 5U);
  EXPECT_TRUE(items[0].is_null());
  EXPECT_TRUE(items[1].as_bool());
  EXPECT_FALSE(items[2].as_bool());
  EXPECT_EQ(items[3].as_int(), -12);
  EXPECT_FALSE(items[4].is_int());
  EXPECT_EQ(items[4].as_double(), 15.0);
  EXPECT_EQ(json.find("b")->as_string(), "x");
  EXPECT_EQ(json.find("c"), nullptr);
  EXPECT_EQ(items[0].find("a"), nullptr);
}

TEST(ParseJson, KeepsKeyOrder) {
  const Json json = parse(R"({"z": 1, "a": 2, "m": 3})");
  EXPECT_EQ(json.members()[0].first, "z");
  EXPECT_EQ(json.members()[1].first, "a");
  EXPECT_EQ(json.members()[2].first, "m");
}

TEST(ParseJson, TellsIntegersFromDoubles) {
  EXPECT_EQ(parse("9223372036854775807").as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse("-9223372036854775808").as_int(), std::numeric_limits<int64_t>::min());
  const Json large = parse("9223372036854775808");
  EXPECT_FALSE(large.is_int());
  EXPECT_EQ(large.as_double(), 9223372036854775808.0);
  EXPECT_FALSE(parse("1.0").is_int());
  EXPECT_TRUE(std::signbit(parse("-0").as_double()));
}

TEST(ParseJson, RefusesIllFormedNumbers) {
  for (const char* text : {"01", "-", "-a", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity",
                           "-Infinity", "nan", "1 2", "--1"}) {
    error_of(text);
  }
}

TEST(ParseJson, RefusesNumbersTooLargeForADouble) {
  EXPECT_EQ(error_of("[1e999]"),
            "parse JSON: byte 1: got 1e999, expected a number that fits a double");
  EXPECT_EQ(parse("1e-999").as_double(), 0.0);
}

TEST(ParseJson, DecodesEscapes) {
  EXPECT_EQ(parse(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC")").as_string(),
            "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(parse(R"("\ud83d\ude00")").as_string(), "\xf0\x9f\x98\x80");
  EXPECT_EQ(parse(R"("\u0000")").as_string(), std::string(1, '\0'));
}

TEST(ParseJson, LoneSurrogatesBecomeReplacementCharacters) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(parse(R"("\ud83d")").as_string(), replacement);
  EXPECT_EQ(parse(R"("\ude00x")").as_string(), replacement + "x");
  EXPECT_EQ(parse(R"("\ud83dA")").as_string(), replacement + "A");
  EXPECT_EQ(parse(R"("\ud83d\u0041")").as_string(), replacement + "A");
  EXPECT_EQ(parse(R"("\ud83d\ud83d\ude00")").as_string(), replacement + "\xf0\x9f\x98\x80");
  EXPECT_EQ(error_of(R"("\ud83d\u00g0")"),
            "parse JSON: byte 7: got '\\', expected four hex digits after \\u");
}

TEST(ParseJson, RefusesIllFormedStrings) {
  EXPECT_EQ(error_of("\"abc"),
            "parse JSON: byte 4: got the end, expected the end of the string begun at byte 0");
  error_of("\"\\");
  error_of(R"("\x41")");
  error_of(R"("\u12")");
  error_of("\"a\nb\"");
  error_of(std::string_view("\"a\0b\"", 5));
  EXPECT_EQ(error_of("\"a\xff\""), "parse JSON: byte 2: got '\\xff', expected UTF-8");
  error_of("\"\xc0\xaf\"");      // overlong
  error_of("\"\xed\xa0\x80\"");  // a surrogate in UTF-8
  error_of("\"\xe2\x82\"");      // cut
}

TEST(ParseJson, RefusesIllFormedStructure) {
  for (const char* text :
       {"",        " ",          "[",     "]",       "{",         "}",
        "[1",      "[1,",        "[1,]",  "[,1]",    "[1 2]",     "{\"a\"",
        "{\"a\":", "{\"a\":1,}", "{a:1}", "{1:1}",   "{\"a\" 1}", "{\"a\":1 \"b\":2}",
        "tru",     "nulll",      "'a'",   "// c\n1", "[1]x",      "\xef\xbb\xbf{}"}) {
    error_of(text);
  }
}

TEST(ParseJson, RefusesDuplicateKeys) {
  EXPECT_EQ(error_of(R"([{"a": 1, "b": 2, "a": 3}])"),
            "parse JSON: object at byte 1: got the key \"a\" twice");
  error_of(R"({"\u0061": 1, "a": 2})");
  EXPECT_TRUE(parse(R"({"a": {"a": 1}, "b": {"a": 1}})").is_object());
}

TEST(ParseJson, BoundsDepth) {
  const JsonLimits limits{.max_depth = 3};
  EXPECT_TRUE(parse_json("[[[1]]]", limits).has_value());
  EXPECT_TRUE(parse_json(R"({"a":{"b":[1]}})", limits).has_value());
  EXPECT_EQ(error_of("[[[[1]]]]", limits), "parse JSON: byte 3: got nesting deeper than 3 levels");
  error_of(std::string(1000000, '['));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  error_of(objects);
}

TEST(ParseJson, BoundsSizeAndValues) {
  EXPECT_NE(error_of("[1, 2]", {.max_bytes = 5}).find("6 bytes"), std::string::npos);
  EXPECT_NE(error_of("[1, 2, 3]", {.max_values = 3}).find("more than 3 values"), std::string::npos);
  EXPECT_TRUE(parse_json("[1, 2]", {.max_values = 3}).has_value());
}

TEST(ParseJson, EveryPrefixOfATextIsAnError) {
  const std::string text =
      R"({"a": [1.5, "\ud83d\ude00\u00e9", true], "b": {"c": null}, "d": -2e-3})";
  ASSERT_TRUE(parse_json(text).has_value());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_json(std::string_view(text).substr(0, size)).has_value()) << size;
  }
}

TEST(ParseJson, LargeObjectsParseInReasonableTime) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i)
    text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":" + std::to_string(i);
  text += "}";
  EXPECT_EQ(parse(text).members().size(), 100000U);
}

TEST(JsonDump, RoundTrips) {
  const std::string text =
      R"({"a":[1,-2.5,1e+300,"x\"\\\n\u0001~"],"b":{},"c":[],"d":null,"e":true})";
  const Json json = parse(text);
  EXPECT_EQ(json.dump(), text);
  EXPECT_EQ(parse(json.dump(true)).dump(), text);
}

TEST(JsonDump, KeepsNonAsciiText) { EXPECT_EQ(parse(R"("\u00e9")").dump(), "\"\xc3\xa9\""); }

TEST(JsonDump, SpacesSeparators) {
  EXPECT_EQ(parse(R"({"a":[1,2],"b":3})").dump(true), R"({"a": [1, 2], "b": 3})");
}

TEST(JsonDump, DoublesStayDoubles) {
  EXPECT_EQ(Json::number(3.0).dump(), "3.0");
  EXPECT_EQ(Json::number(0.1).dump(), "0.1");
  EXPECT_EQ(Json::number(-0.0).dump(), "-0.0");
  EXPECT_EQ(Json::number(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json::integer(3).dump(), "3");
}

TEST(Json, BuildsValues) {
  Json json = Json::object();
  json.set("list", Json::array({Json::integer(1), Json::boolean(false)}));
  json.set("text", Json::string("t"));
  EXPECT_EQ(json.dump(), R"({"list":[1,false],"text":"t"})");
}

}  // namespace
}  // namespace rill
