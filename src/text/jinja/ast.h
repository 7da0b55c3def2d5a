// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a template.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace rill::text::jinja {

struct Expression;
struct Filter;
struct Test;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind {
  kConstant,   ///< value
  kName,       ///< name
  kList,       ///< children
  kTuple,      ///< children
  kDict,       ///< children: key, value, key, value, ...
  kAttribute,  ///< children[0].name
  kItem,       ///< children[0][children[1]]
  kSlice,  ///< children[0][children[1]:children[2]:children[3]], each of the last three may be null
  kCall,   ///< children[0](children[1..], named)
  kMethod,     ///< children[0].name(children[1..], named)
  kFilter,     ///< children[0] | name(children[1..], named)
  kTest,       ///< children[0] is name(children[1..], named)
  kUnary,      ///< name ("not", "-", "+"), children[0]
  kBinary,     ///< name ("+", "~", "and", "or", ...), children[0], children[1]
  kCompare,    ///< children[0] operators[0] children[1] operators[1] children[2] ...
  kCondition,  ///< children[0] if children[1] else children[2] (may be null)
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kConstant;
  size_t line = 1;
  size_t depth = 1;  ///< levels of the tree below, for the parser's limit
  std::string name;
  Value value;
  std::vector<ExpressionPtr> children;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> operators;
  const Filter* filter = nullptr;
  const Test* test = nullptr;

  /// Appends a child, which may be null.
  void adopt(ExpressionPtr child) {
    if (child) depth = std::max(depth, child->depth + 1);
    children.push_back(std::move(child));
  }
};

enum class StatementKind {
  kText,   ///< text
  kPrint,  ///< expression
  kIf,     ///< expression, body, else_body
  kFor,    ///< targets, expression, condition (may be null), body, else_body
  kSet,  ///< targets (or target_namespace.targets[0]), expression; without expression the output of
         ///< body
  kMacro,  ///< name, parameters, body
  kBreak,
  kContinue,
  kGroup,  ///< body: {% generation %}
};

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  ///< null: none given
};

struct Statement {
  StatementKind kind = StatementKind::kText;
  size_t line = 1;
  std::string text;  ///< kText: the text; kMacro: the name
  ExpressionPtr expression;
  ExpressionPtr condition;
  std::vector<std::string> targets;
  std::string target_namespace;
  std::vector<Parameter> parameters;
  std::vector<Statement> body;
  std::vector<Statement> else_body;
};

}  // namespace rill::text::jinja
