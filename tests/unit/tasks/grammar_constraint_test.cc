// SPDX-License-Identifier: Apache-2.0
// Constraints on a model with random weights: whatever it would like to say, what it says is valid.
#include "tasks/grammar_constraint.h"

#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "session/generator.h"
#include "text/reply_parser.h"
#include "unit/model/lfm2_support.h"
#include "unit/text/grammar_support.h"
#include "unit/text/text_test_data.h"

namespace rill::tasks {
namespace {

constexpr int32_t kStop = 7;
constexpr size_t kVocab = 1024;

/// Takes the stop id or what closes something as soon as it may come, once the reply has become
/// long: replies of random tokens would seldom end by themselves. The quote comes first: in a
/// string the others are text.
class Hurried final : public session::TokenConstraint {
 public:
  Hurried(session::TokenConstraint& rule, const text::Tokenizer& tokenizer, size_t patience)
      : rule_(rule), patience_(patience), closing_{kStop, 11} {
    for (const char* text : {"\"", "}", "]", ")", "'", "n"}) {
      closing_.push_back(tokenizer.find(text).value());
    }
  }
  Status allowed(std::span<uint64_t> words) override {
    RILL_RETURN_IF_ERROR(rule_.allowed(words));
    if (num_tokens_ < patience_) return {};
    const std::vector<uint64_t> all(words.begin(), words.end());
    for (const int32_t token : closing_) {
      if (!text::grammar::test::has_token(all, token)) continue;
      std::fill(words.begin(), words.end(), 0);
      words[static_cast<size_t>(token) / 64] = uint64_t{1} << (token % 64);
      return {};
    }
    return {};
  }
  Status accept(int32_t token) override {
    ++num_tokens_;
    return rule_.accept(token);
  }

 private:
  session::TokenConstraint& rule_;
  size_t patience_;
  size_t num_tokens_ = 0;
  std::vector<int32_t> closing_;
};

/// A model for the vocabulary of the text cases.
struct RandomModel {
  RandomModel()
      : compute(1),
        tiny(spec(), compute),
        tokenizer(text::test::text_tokenizer()),
        constraints(std::move(GrammarConstraints::create(tokenizer, {kStop})).value()) {}
  static lfm2_test::TinySpec spec() {
    lfm2_test::TinySpec spec;
    spec.layers = "ca";
    spec.vocab = kVocab;
    return spec;
  }

  session::Reply run(session::TokenConstraint& rule, uint64_t seed, size_t patience = 60) {
    auto sequence = session::Sequence::create(*tiny.backbone, DType::kF16);
    RILL_CHECK(sequence.has_value(), "sequence");
    RILL_CHECK(
        sequence->append_tokens(compute.context, lfm2_test::some_tokens(4, kVocab)).has_value(),
        "prompt");
    session::GenerateOptions options;
    options.max_tokens = 400;
    options.stop_ids = {kStop};
    options.sampler.temperature = 1.0f;
    options.sampler.seed = seed;
    Hurried constraint(rule, tokenizer, patience);
    session::Generator generator(*sequence, options);
    generator.set_constraint(&constraint);
    session::Reply reply;
    while (true) {
      const auto token = generator.next(compute.context);
      EXPECT_TRUE(token) << token.error().message;
      if (!token || !*token) break;
      reply.tokens.push_back(**token);
    }
    reply.stop_reason = generator.stop_reason();
    return reply;
  }

  lfm2_test::Compute compute;
  lfm2_test::LoadedTiny tiny;
  text::Tokenizer tokenizer;
  GrammarConstraints constraints;
};

/// Objects inside each other, each with a property of its own.
std::string deep_schema(size_t depth) {
  std::string schema = R"({"type": "integer", "minimum": -5, "maximum": 5})";
  for (size_t i = 0; i < depth; ++i) {
    schema = cat(R"({"type": "object", "properties": {"l)", i, R"(": )", schema,
                 R"(, "b": {"type": "boolean"}}, "required": ["l)", i, R"("]})");
  }
  return schema;
}

std::vector<std::string> schemas() {
  return {
      R"({"type": "object", "properties": {"answer": {"type": "integer"},
          "guard": {"const": "SCHEMA_ENFORCED"}}, "required": ["answer", "guard"]})",
      R"({"type": "array", "items": {"type": "object", "properties": {
          "name": {"type": "string", "maxLength": 12}, "when": {"type": "string", "format": "date"},
          "kind": {"enum": ["a", "b", null]}}, "required": ["name", "kind"]}, "maxItems": 2})",
      R"({"$defs": {"n": {"type": "object", "properties": {"v": {"type": "number", "minimum": 0, "maximum": 1},
          "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["v", "next"]}},
          "$ref": "#/$defs/n"})",
      R"({"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2,4}-\\d{1,6}$"},
          "list": {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"type": "integer"}, "maxItems": 3}},
          "additionalProperties": {"type": "boolean"}})",
      R"({"type": "object", "properties": {"free": {}, "text": {"type": "string"},
          "any": {"type": "object"}}, "required": ["free", "text", "any"]})",
      deep_schema(24)};
}

TEST(GrammarConstraints, ThousandSampledRepliesAreValid) {
  RandomModel model;
  const std::vector<std::string> all = schemas();
  size_t ended = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string& schema = all[seed % all.size()];
    const auto constraint = model.constraints.json_schema(schema);
    ASSERT_TRUE(constraint) << constraint.error().message;
    const session::Reply reply = model.run(**constraint, seed);
    const std::string text = model.tokenizer.decode(reply.tokens, false);
    if (reply.stop_reason != session::StopReason::kStopToken) continue;
    ++ended;
    JsonLimits limits;
    limits.max_depth = 256;
    const Result<Json> json = parse_json(text, limits);
    ASSERT_TRUE(json) << json.error().message << ": " << text;
    const Json root = *parse_json(schema, limits);
    ASSERT_TRUE(text::grammar::test::is_valid(*json, root, root)) << schema << " on " << text;
  }
  EXPECT_EQ(ended, 1000u);
}

std::string parameters_of_tool(size_t tool) {
  const char* kinds[] = {
      R"({"type": "object", "properties": {"city": {"type": "string", "maxLength": 12},
          "days": {"type": "integer", "minimum": 1, "maximum": 14}}, "required": ["city", "days"]})",
      R"({"type": "object", "properties": {"at": {"$ref": "#/$defs/point"},
          "id": {"type": "string", "pattern": "^[A-Z]{2}\\d{3}$"}}, "required": ["at", "id"],
          "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"},
          "y": {"type": "number"}}, "required": ["x", "y"]}}})",
      R"({"type": "object", "properties": {}})"};
  if (tool % 4 < 3) return kinds[tool % 4];
  return cat(R"({"type": "object", "properties": {"tree": )", deep_schema(8),
             R"(}, "required": ["tree"]})");
}

TEST(GrammarConstraints, SampledCallsOfFortyToolsAreValid) {
  std::string tools = "[";
  for (size_t i = 0; i < 40; ++i) {
    tools += cat(i > 0 ? ", " : "", R"({"type": "function", "function": {"name": "tool_)", i,
                 R"(", "parameters": )", parameters_of_tool(i), "}}");
  }
  tools += "]";
  const auto tools_json = parse_json(tools);
  ASSERT_TRUE(tools_json);
  RandomModel model;
  std::vector<size_t> calls(40);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto constraint = model.constraints.tool_calls(tools, {.tool = "", .max_calls = 3});
    ASSERT_TRUE(constraint) << constraint.error().message;
    const session::Reply reply = model.run(**constraint, seed);
    ASSERT_EQ(reply.stop_reason, session::StopReason::kStopToken);
    const std::string text = model.tokenizer.decode(reply.tokens, false);
    const text::Reply parsed = text::parse_reply(text, {}, *tools_json);
    ASSERT_GE(parsed.tool_calls.size(), 1u) << text;
    EXPECT_EQ(parsed.content, "");
    for (const text::ToolCall& call : parsed.tool_calls) {
      const size_t tool = std::stoul(call.name.substr(5));
      ASSERT_LT(tool, calls.size());
      ++calls[tool];
      EXPECT_TRUE(call.is_complete);
      const auto arguments = parse_json(call.arguments);
      ASSERT_TRUE(arguments) << call.arguments;
      const Json root = *parse_json(parameters_of_tool(tool));
      EXPECT_TRUE(text::grammar::test::is_valid(*arguments, root, root)) << text;
    }
  }
  // Every kind of parameters has come.
  for (size_t kind = 0; kind < 4; ++kind) {
    size_t of_kind = 0;
    for (size_t i = kind; i < 40; i += 4) of_kind += calls[i];
    EXPECT_GT(of_kind, 5u) << kind;
  }
}

TEST(GrammarConstraints, EveryKindLimitsTheReply) {
  RandomModel model;
  const auto text_of = [&](ConstraintResult constraint) {
    EXPECT_TRUE(constraint) << constraint.error().message;
    const session::Reply reply = model.run(**constraint, 3);
    return model.tokenizer.decode(reply.tokens, false);
  };
  EXPECT_EQ(text_of(model.constraints.regex("ab{3}c")), "abbbc");
  EXPECT_EQ(text_of(model.constraints.gbnf("root ::= \"yes\" \"!\"{2}")), "yes!!");
  EXPECT_EQ(text_of(model.constraints.json_object()).substr(0, 1), "{");
  EXPECT_EQ(
      text_of(model.constraints.tool_calls(
          R"([{"name": "f", "parameters": {"properties": {"x": {"const": 1}}, "required": ["x"]}}])",
          {.tool = "f", .max_calls = 1})),
      "<|tool_call_start|>[f(x=1)]<|tool_call_end|>");
}

TEST(GrammarConstraints, RefusesBadStopIdsAndTexts) {
  const text::Tokenizer tokenizer = text::test::text_tokenizer();
  EXPECT_EQ(GrammarConstraints::create(tokenizer, {}).error().message,
            "grammar: got no stop id, expected at least one");
  EXPECT_FALSE(GrammarConstraints::create(tokenizer, {4096}));
  const auto constraints = GrammarConstraints::create(tokenizer, {kStop});
  EXPECT_EQ(constraints->json_schema("{\"not\": {}}").error().message,
            "json schema: #/not: unsupported keyword");
  EXPECT_EQ(constraints->regex("(").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(constraints->gbnf("").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace rill::tasks
