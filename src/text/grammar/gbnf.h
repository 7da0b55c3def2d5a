// SPDX-License-Identifier: Apache-2.0
// GBNF, the grammar notation of llama.cpp: rules "name ::= ...", literals, character classes, ".",
// groups, alternatives, ? * + {m,n}, comments. Rule "root" is the whole text.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace rill::text::grammar {

/// Reads a grammar. Escapes (\x41, \u00e9, \U0001f600) name code points.
/// Errors, with line and column: kInvalidArgument (ill-formed; a rule that is missing or comes
/// twice), kUnsupported (token references; left recursion, by the rule's name; too large).
Result<Grammar> gbnf_grammar(std::string_view text);

}  // namespace rill::text::grammar
