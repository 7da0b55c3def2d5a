// SPDX-License-Identifier: Apache-2.0
// Regular expressions as grammars: the part of ECMAScript's syntax that is regular. Literals, ".",
// classes with \d \w \s, groups (named or not, all alike), alternatives, ? * + {m,n} (lazy ones
// are the same set of texts), escapes; ^ and $ at the ends of an alternative of the whole.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "text/grammar/code_points.h"
#include "text/grammar/grammar.h"

namespace rill::text::grammar {

/// What an expression stands for where it does not say ^ or $.
enum class Anchoring {
  kWhole,   ///< the whole text
  kSearch,  ///< any part of it, as in JSON schema's "pattern"
};

/// An expression and how long its texts are.
struct RegexExpr {
  ExprId expr = 0;
  uint32_t min_length = 0;   ///< in characters
  uint32_t max_length = 0;   ///< kUnlimited: no bound
  bool repeats_one = false;  ///< a repetition of one character and nothing else
};

/// Adds the texts of a regular expression to a grammar, one part of text in `quoting`.
/// "." is any character but line ends; \d \w \s are ASCII.
/// Errors, with the byte: kInvalidArgument (ill-formed), kUnsupported (lookaround, backreferences,
/// word boundaries, properties, flags, by name).
Result<RegexExpr> add_regex(std::string_view pattern, Anchoring anchoring, Quoting quoting,
                            Grammar& grammar);

/// The grammar of the texts that a regular expression matches whole.
Result<Grammar> regex_grammar(std::string_view pattern);

}  // namespace rill::text::grammar
