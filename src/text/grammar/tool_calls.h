// SPDX-License-Identifier: Apache-2.0
// Tool calls as a grammar: <|tool_call_start|>[name(argument=value, ...)]<|tool_call_end|>, the
// form that the LFM2 family writes and tool_call_parser.h reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace rill::text::grammar {

/// Which calls may come.
struct ToolCallGrammarOptions {
  std::string tool;            ///< the one tool that may be called; empty: any
  size_t max_calls = 16;       ///< calls in the block; 1: no parallel calls
  bool starts_inside = false;  ///< the start marker has already been generated
};

/// One block of calls of the given tools (a JSON array in OpenAI form: {"type": "function",
/// "function": {"name", "parameters"}} or the function alone). Arguments come in the order of
/// "properties"; values are Python literals that the parameter's schema allows.
/// Errors: those of json_schema_grammar(), naming the path ("#/0/function/parameters/..."),
/// kNotFound (no such tool), kInvalidArgument (no tools; a name that no call can be written with).
Result<Grammar> tool_call_grammar(std::string_view tools_json,
                                  const ToolCallGrammarOptions& options = {});

}  // namespace rill::text::grammar
