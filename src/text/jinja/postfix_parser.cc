// SPDX-License-Identifier: Apache-2.0
// What follows a primary expression: attributes, subscripts, calls, filters, tests.
#include <algorithm>

#include "base/str_cat.h"
#include "text/jinja/builtins.h"
#include "text/jinja/expression_parser.h"

namespace rill::text::jinja {
ExpressionParser::Parsed ExpressionParser::parse_postfix(ExpressionPtr node) {
  while (true) {
    RILL_RETURN_IF_ERROR(check_depth(*node));
    if (take_operator(".")) {
      RILL_ASSIGN_OR_RETURN(node, parse_attribute(std::move(node)));
    } else if (take_operator("[")) {
      RILL_ASSIGN_OR_RETURN(node, parse_subscript(std::move(node)));
    } else if (current().is_operator("(")) {
      RILL_ASSIGN_OR_RETURN(node, parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

ExpressionParser::Parsed ExpressionParser::parse_filters(ExpressionPtr node) {
  while (true) {
    RILL_RETURN_IF_ERROR(check_depth(*node));
    if (take_operator("|")) {
      RILL_ASSIGN_OR_RETURN(node, parse_filter(std::move(node)));
    } else if (take_name("is")) {
      RILL_ASSIGN_OR_RETURN(node, parse_test(std::move(node)));
    } else if (current().is_operator("(")) {
      RILL_ASSIGN_OR_RETURN(node, parse_call(std::move(node)));
    } else {
      return node;
    }
  }
}

ExpressionParser::Parsed ExpressionParser::parse_attribute(ExpressionPtr node) {
  const Token token = current();
  if (token.type == TokenType::kInteger) {
    take();
    ExpressionPtr item = make(ExpressionKind::kItem, token.line);
    RILL_ASSIGN_OR_RETURN(ExpressionPtr index, parse_number(token));
    item->adopt(std::move(node));
    item->adopt(std::move(index));
    return item;
  }
  RILL_ASSIGN_OR_RETURN(std::string name, expect_identifier());
  ExpressionPtr attribute = make(ExpressionKind::kAttribute, token.line, std::move(name));
  attribute->adopt(std::move(node));
  return attribute;
}

ExpressionParser::Parsed ExpressionParser::parse_subscript(ExpressionPtr node) {
  const size_t line = current().line;
  if (take_operator(":")) return parse_slice(std::move(node), nullptr);
  RILL_ASSIGN_OR_RETURN(ExpressionPtr index, parse_expression());
  if (take_operator(":")) return parse_slice(std::move(node), std::move(index));
  RILL_RETURN_IF_ERROR(expect_operator("]"));
  ExpressionPtr item = make(ExpressionKind::kItem, line);
  item->adopt(std::move(node));
  item->adopt(std::move(index));
  return item;
}

/// After "[begin:".
ExpressionParser::Parsed ExpressionParser::parse_slice(ExpressionPtr node, ExpressionPtr begin) {
  ExpressionPtr slice = make(ExpressionKind::kSlice, current().line);
  ExpressionPtr end;
  ExpressionPtr step;
  if (!current().is_operator(":") && !current().is_operator("]")) {
    RILL_ASSIGN_OR_RETURN(end, parse_expression());
  }
  if (take_operator(":") && !current().is_operator("]")) {
    RILL_ASSIGN_OR_RETURN(step, parse_expression());
  }
  RILL_RETURN_IF_ERROR(expect_operator("]"));
  for (ExpressionPtr* child : {&node, &begin, &end, &step}) slice->adopt(std::move(*child));
  return slice;
}

Status ExpressionParser::parse_arguments(Expression& call) {
  RILL_RETURN_IF_ERROR(expect_operator("("));
  bool first = true;
  while (!take_operator(")")) {
    if (!first) {
      RILL_RETURN_IF_ERROR(expect_operator(","));
      if (take_operator(")")) break;
    }
    first = false;
    if (current().is_operator("*") || current().is_operator("**"))
      return lacks("unpacked arguments (\"*\")");
    const bool is_named = current().type == TokenType::kName && ahead().is_operator("=");
    std::string name;
    if (is_named) {
      name = take().text;
      take();
    } else if (!call.named.empty()) {
      return fail("a positional argument follows a named one");
    }
    RILL_ASSIGN_OR_RETURN(ExpressionPtr value, parse_expression());
    if (is_named) {
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      call.adopt(std::move(value));
    }
  }
  return {};
}

ExpressionParser::Parsed ExpressionParser::parse_call(ExpressionPtr node) {
  const size_t line = current().line;
  if (node->kind == ExpressionKind::kAttribute) {
    if (!is_known_method(node->name))
      return lacks(cat("the method \"", printable(node->name), "\""));
    node->kind = ExpressionKind::kMethod;
    RILL_RETURN_IF_ERROR(parse_arguments(*node));
    return node;
  }
  ExpressionPtr call = make(ExpressionKind::kCall, line);
  call->adopt(std::move(node));
  RILL_RETURN_IF_ERROR(parse_arguments(*call));
  return call;
}

ExpressionParser::Parsed ExpressionParser::parse_filter(ExpressionPtr node) {
  ExpressionPtr filter = make(ExpressionKind::kFilter, current().line);
  RILL_ASSIGN_OR_RETURN(filter->name, expect_identifier());
  filter->filter = find_filter(filter->name);
  if (filter->filter == nullptr) return lacks(cat("the filter \"", printable(filter->name), "\""));
  filter->adopt(std::move(node));
  if (current().is_operator("(")) RILL_RETURN_IF_ERROR(parse_arguments(*filter));
  return filter;
}

/// After "is". A test may take one argument without parentheses.
ExpressionParser::Parsed ExpressionParser::parse_test(ExpressionPtr node) {
  const bool is_negated = take_name("not");
  ExpressionPtr test = make(ExpressionKind::kTest, current().line);
  RILL_ASSIGN_OR_RETURN(test->name, expect_identifier());
  test->test = find_test(test->name);
  if (test->test == nullptr) return lacks(cat("the test \"", printable(test->name), "\""));
  test->adopt(std::move(node));
  const Token& next = current();
  const bool is_word = next.type == TokenType::kName && next.text != "else" && next.text != "or" &&
                       next.text != "and" && next.text != "if" && next.text != "is";
  const bool has_argument = is_word || next.type == TokenType::kString ||
                            next.type == TokenType::kInteger || next.type == TokenType::kFloat ||
                            next.is_operator("[") || next.is_operator("{");
  if (next.is_operator("(")) {
    RILL_RETURN_IF_ERROR(parse_arguments(*test));
  } else if (has_argument) {
    RILL_ASSIGN_OR_RETURN(ExpressionPtr argument, parse_primary());
    RILL_ASSIGN_OR_RETURN(argument, parse_postfix(std::move(argument)));
    test->adopt(std::move(argument));
  }
  if (!is_negated) return test;
  ExpressionPtr negation = make(ExpressionKind::kUnary, test->line, "not");
  negation->adopt(std::move(test));
  return negation;
}

}  // namespace rill::text::jinja
