// SPDX-License-Identifier: Apache-2.0
// The parser's expressions, by falling precedence: if-else, or, and, not, comparisons, + -, ~, * /
// // %, **, unary, then subscripts, calls, filters and tests. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace rill::text::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  static constexpr size_t kMaxDepth = 64;       // recursion of the parser
  static constexpr size_t kMaxTreeDepth = 200;  // and of the tree: chains lean to one side

  using Parsed = Result<ExpressionPtr>;

  [[nodiscard]] const Token& current() const { return tokens_[position_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[std::min(position_ + 1, tokens_.size() - 1)];
  }
  Token take() {
    return position_ + 1 < tokens_.size() ? tokens_[position_++] : tokens_[position_];
  }
  bool take_operator(std::string_view op);
  bool take_name(std::string_view name);
  Status expect_operator(std::string_view op);
  Result<std::string> expect_identifier();
  [[nodiscard]] Error fail(const std::string& what) const;
  [[nodiscard]] Error lacks(const std::string& what) const;
  /// What stands at the current token, for messages.
  [[nodiscard]] std::string shown() const;

  /// An expression; with `with_condition` false "if" is not part of it.
  Parsed parse_expression(bool with_condition = true);
  /// An expression, or a tuple of several with commas between.
  Parsed parse_tuple(bool with_condition = true);

 private:
  using Level = Parsed (ExpressionParser::*)();

  Parsed parse_condition();
  Parsed parse_or();
  Parsed parse_and();
  Parsed parse_not();
  Parsed parse_compare();
  Parsed parse_sum();
  Parsed parse_concat();
  Parsed parse_product();
  Parsed parse_power();
  Parsed parse_unary(bool with_filters = true);
  Parsed parse_primary();
  Parsed parse_name(const Token& token);
  Parsed parse_number(const Token& token);
  Parsed parse_parenthesis(size_t line);
  Parsed parse_list(size_t line);
  Parsed parse_dict(size_t line);
  Parsed parse_postfix(ExpressionPtr node);
  Parsed parse_filters(ExpressionPtr node);
  Parsed parse_attribute(ExpressionPtr node);
  Parsed parse_subscript(ExpressionPtr node);
  Parsed parse_slice(ExpressionPtr node, ExpressionPtr begin);
  Parsed parse_call(ExpressionPtr node);
  Parsed parse_filter(ExpressionPtr node);
  Parsed parse_test(ExpressionPtr node);
  Status parse_arguments(Expression& call);
  Result<std::string> parse_compare_operator();
  Parsed parse_binary(Level operand, std::initializer_list<std::string_view> operators);

  /// A chain of operators, subscripts or filters must not become a deep recursion later.
  [[nodiscard]] Status check_depth(const Expression& node) const;
  static ExpressionPtr make(ExpressionKind kind, size_t line, std::string name = {});

  std::vector<Token> tokens_;
  size_t position_ = 0;
  size_t depth_ = 0;
};

}  // namespace rill::text::jinja
