// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/tool_calls.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/json.h"
#include "base/str_cat.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/schema_keywords.h"

namespace rill::text::grammar {
namespace {

constexpr std::string_view kToolCallStart = "<|tool_call_start|>";
constexpr std::string_view kToolCallEnd = "<|tool_call_end|>";

constexpr JsonLimits kToolLimits = {
    .max_depth = 128, .max_bytes = size_t{16} << 20, .max_values = size_t{1} << 18};

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  });
}

/// The tool's function object, and its path.
struct Function {
  const Json* json;
  std::string path;
  std::string name;
};

Result<Function> function_of(const Json& tool, const std::string& tool_path) {
  const Json* wrapped = tool.find("function");
  const Json* function = wrapped != nullptr ? wrapped : &tool;
  const std::string path = wrapped != nullptr ? tool_path + "/function" : tool_path;
  const Json* name = function->find("name");
  if (name == nullptr || !name->is_string() || !is_tool_name(name->as_string())) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("tools: ", path, "/name: expected letters, digits, _, - and .")};
  }
  return Function{function, path, name->as_string()};
}

/// name(arguments)
Result<ExprId> call_of(const Function& function, Grammar& grammar) {
  ExprId arguments = grammar.empty();
  const Json* parameters = function.json->find("parameters");
  if (parameters != nullptr && !parameters->is_null()) {
    const std::string path = function.path + "/parameters";
    SchemaExprs exprs(*parameters, path, grammar, Dialect::kPython);
    RILL_ASSIGN_OR_RETURN(arguments, exprs.arguments(*parameters, path));
  }
  return grammar.sequence({grammar.literal(function.name + "("), arguments, grammar.byte(')')});
}

}  // namespace

Result<Grammar> tool_call_grammar(std::string_view tools_json,
                                  const ToolCallGrammarOptions& options) {
  Result<Json> tools = parse_json(tools_json, kToolLimits);
  if (!tools) return std::move(tools).error().with_context("tools");
  if (!tools->is_array() || tools->items().empty() || options.max_calls == 0)
    return Error{ErrorCode::kInvalidArgument, "tools: expected an array with tools, and calls"};
  Grammar grammar;
  std::vector<ExprId> calls;
  for (size_t i = 0; i < tools->items().size(); ++i) {
    RILL_ASSIGN_OR_RETURN(const Function function, function_of(tools->items()[i], cat("#/", i)));
    if (!options.tool.empty() && function.name != options.tool) continue;
    RILL_ASSIGN_OR_RETURN(const ExprId call, call_of(function, grammar));
    calls.push_back(call);
  }
  if (calls.empty())
    return Error{ErrorCode::kNotFound, cat("tools: no tool is named ", printable(options.tool))};
  const ExprId call = grammar.choice(calls);
  const ExprId next =
      grammar.sequence({grammar.byte(','), grammar.optional(grammar.byte(' ')), call});
  const auto more = static_cast<uint32_t>(std::min<size_t>(options.max_calls - 1, 1000));
  const ExprId block = grammar.sequence({grammar.byte('['), call, grammar.repeat(next, 0, more),
                                         grammar.byte(']'), grammar.marker(kToolCallEnd)});
  const ExprId whole =
      options.starts_inside ? block : grammar.sequence({grammar.marker(kToolCallStart), block});
  Status finished = grammar.finish(whole);
  if (finished) return grammar;
  return std::move(finished).error().with_context("tools");
}

}  // namespace rill::text::grammar
