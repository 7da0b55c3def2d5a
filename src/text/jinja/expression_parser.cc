// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/expression_parser.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "text/jinja/builtins.h"

namespace rill::text::jinja {

ExpressionPtr ExpressionParser::make(ExpressionKind kind, size_t line, std::string name) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  node->name = std::move(name);
  return node;
}

bool ExpressionParser::take_operator(std::string_view op) {
  if (!current().is_operator(op)) return false;
  take();
  return true;
}

bool ExpressionParser::take_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

Status ExpressionParser::expect_operator(std::string_view op) {
  if (take_operator(op)) return {};
  return fail(cat("got ", shown(), ", expected \"", op, "\""));
}

Result<std::string> ExpressionParser::expect_identifier() {
  if (current().type != TokenType::kName) return fail(cat("got ", shown(), ", expected a name"));
  return take().text;
}

Error ExpressionParser::fail(const std::string& what) const {
  return template_error(ErrorCode::kInvalidFormat, current().line, what);
}

Error ExpressionParser::lacks(const std::string& what) const {
  return template_error(ErrorCode::kUnsupported, current().line, cat("this build lacks ", what));
}

std::string ExpressionParser::shown() const {
  switch (current().type) {
    case TokenType::kEnd:
      return "the end of the template";
    case TokenType::kData:
      return "text";
    case TokenType::kVariableBegin:
    case TokenType::kBlockBegin:
      return "a tag";
    case TokenType::kVariableEnd:
      return "\"}}\"";
    case TokenType::kBlockEnd:
      return "\"%}\"";
    default:
      return cat("\"", printable(current().text, 40), "\"");
  }
}

Status ExpressionParser::check_depth(const Expression& node) const {
  if (node.depth <= kMaxTreeDepth) return {};
  return lacks(cat("expressions of more than ", kMaxTreeDepth, " levels"));
}

ExpressionParser::Parsed ExpressionParser::parse_expression(bool with_condition) {
  if (depth_ >= kMaxDepth) return lacks(cat("expressions nested deeper than ", kMaxDepth));
  ++depth_;
  Parsed parsed = with_condition ? parse_condition() : parse_or();
  --depth_;
  return parsed;
}

ExpressionParser::Parsed ExpressionParser::parse_tuple(bool with_condition) {
  const size_t line = current().line;
  RILL_ASSIGN_OR_RETURN(ExpressionPtr first, parse_expression(with_condition));
  if (!current().is_operator(",")) return first;
  ExpressionPtr tuple = make(ExpressionKind::kTuple, line);
  tuple->adopt(std::move(first));
  while (take_operator(",")) {
    const TokenType type = current().type;
    if (type == TokenType::kBlockEnd || type == TokenType::kVariableEnd ||
        current().is_operator(")"))
      break;
    RILL_ASSIGN_OR_RETURN(ExpressionPtr item, parse_expression(with_condition));
    tuple->adopt(std::move(item));
  }
  return tuple;
}

ExpressionParser::Parsed ExpressionParser::parse_condition() {
  RILL_ASSIGN_OR_RETURN(ExpressionPtr node, parse_or());
  while (current().is_name("if")) {
    ExpressionPtr condition = make(ExpressionKind::kCondition, take().line);
    RILL_ASSIGN_OR_RETURN(ExpressionPtr test, parse_or());
    ExpressionPtr otherwise;
    if (take_name("else")) {
      RILL_ASSIGN_OR_RETURN(otherwise, parse_expression());
    }
    condition->adopt(std::move(node));
    condition->adopt(std::move(test));
    condition->adopt(std::move(otherwise));
    node = std::move(condition);
    RILL_RETURN_IF_ERROR(check_depth(*node));
  }
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_binary(
    Level operand, std::initializer_list<std::string_view> operators) {
  RILL_ASSIGN_OR_RETURN(ExpressionPtr left, (this->*operand)());
  while (std::find(operators.begin(), operators.end(), current().text) != operators.end() &&
         (current().type == TokenType::kOperator || current().type == TokenType::kName)) {
    const Token token = take();
    ExpressionPtr node = make(ExpressionKind::kBinary, token.line, token.text);
    RILL_ASSIGN_OR_RETURN(ExpressionPtr right, (this->*operand)());
    node->adopt(std::move(left));
    node->adopt(std::move(right));
    left = std::move(node);
    RILL_RETURN_IF_ERROR(check_depth(*left));
  }
  return left;
}

ExpressionParser::Parsed ExpressionParser::parse_or() {
  return parse_binary(&ExpressionParser::parse_and, {"or"});
}
ExpressionParser::Parsed ExpressionParser::parse_and() {
  return parse_binary(&ExpressionParser::parse_not, {"and"});
}

ExpressionParser::Parsed ExpressionParser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  if (depth_ >= kMaxDepth) return lacks(cat("expressions nested deeper than ", kMaxDepth));
  ExpressionPtr node = make(ExpressionKind::kUnary, take().line, "not");
  ++depth_;
  Parsed operand = parse_not();
  --depth_;
  if (!operand) return operand;
  node->adopt(*std::move(operand));
  return node;
}

Result<std::string> ExpressionParser::parse_compare_operator() {
  static constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">="};
  const Token& token = current();
  if (token.type == TokenType::kOperator &&
      std::find(std::begin(kOperators), std::end(kOperators), token.text) != std::end(kOperators)) {
    return take().text;
  }
  if (take_name("in")) return std::string("in");
  if (token.is_name("not") && ahead().is_name("in")) {
    take();
    take();
    return std::string("not in");
  }
  return std::string();
}

ExpressionParser::Parsed ExpressionParser::parse_compare() {
  const size_t line = current().line;
  RILL_ASSIGN_OR_RETURN(ExpressionPtr first, parse_sum());
  ExpressionPtr node;
  while (true) {
    RILL_ASSIGN_OR_RETURN(std::string op, parse_compare_operator());
    if (op.empty()) break;
    if (!node) {
      node = make(ExpressionKind::kCompare, line);
      node->adopt(std::move(first));
    }
    RILL_ASSIGN_OR_RETURN(ExpressionPtr operand, parse_sum());
    node->operators.push_back(std::move(op));
    node->adopt(std::move(operand));
  }
  if (!node) return first;
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_sum() {
  return parse_binary(&ExpressionParser::parse_concat, {"+", "-"});
}
ExpressionParser::Parsed ExpressionParser::parse_concat() {
  return parse_binary(&ExpressionParser::parse_product, {"~"});
}
ExpressionParser::Parsed ExpressionParser::parse_product() {
  return parse_binary(&ExpressionParser::parse_power, {"*", "/", "//", "%"});
}

ExpressionParser::Parsed ExpressionParser::parse_power() {
  RILL_ASSIGN_OR_RETURN(ExpressionPtr node, parse_unary());
  if (current().is_operator("**")) return lacks("the operator \"**\"");
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_unary(bool with_filters) {
  const bool is_sign = current().is_operator("-") || current().is_operator("+");
  if (is_sign && depth_ >= kMaxDepth)
    return lacks(cat("expressions nested deeper than ", kMaxDepth));
  ExpressionPtr node;
  if (is_sign) {
    const Token sign = take();
    node = make(ExpressionKind::kUnary, sign.line, sign.text);
    ++depth_;
    Parsed operand = parse_unary(false);
    --depth_;
    if (!operand) return operand;
    node->adopt(*std::move(operand));
  } else {
    RILL_ASSIGN_OR_RETURN(node, parse_primary());
  }
  RILL_ASSIGN_OR_RETURN(node, parse_postfix(std::move(node)));
  if (!with_filters) return node;
  return parse_filters(std::move(node));
}

ExpressionParser::Parsed ExpressionParser::parse_name(const Token& token) {
  const std::string& name = token.text;
  ExpressionPtr node = make(ExpressionKind::kConstant, token.line);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    node->value = Value::boolean(name == "true" || name == "True");
  } else if (name == "none" || name == "None") {
    node->value = Value::none();
  } else {
    node->kind = ExpressionKind::kName;
    node->name = name;
  }
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_number(const Token& token) {
  ExpressionPtr node = make(ExpressionKind::kConstant, token.line);
  if (token.type == TokenType::kInteger) {
    const std::optional<int64_t> value = parse_int(token.text);
    if (!value) return fail(cat("the number ", printable(token.text, 40), " is too large"));
    node->value = Value::integer(*value);
  } else {
    const std::optional<double> value = parse_double(token.text);
    if (!value) return fail(cat("the number ", printable(token.text, 40), " is too large"));
    node->value = Value::number(*value);
  }
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_primary() {
  const Token token = current();
  switch (token.type) {
    case TokenType::kName:
      take();
      return parse_name(token);
    case TokenType::kInteger:
    case TokenType::kFloat:
      take();
      return parse_number(token);
    case TokenType::kString: {
      // Neighbouring strings are one.
      std::string text;
      while (current().type == TokenType::kString) text += take().text;
      ExpressionPtr node = make(ExpressionKind::kConstant, token.line);
      node->value = Value::string(std::move(text));
      return node;
    }
    default:
      break;
  }
  if (take_operator("(")) return parse_parenthesis(token.line);
  if (take_operator("[")) return parse_list(token.line);
  if (take_operator("{")) return parse_dict(token.line);
  return fail(cat("got ", shown(), ", expected an expression"));
}

ExpressionParser::Parsed ExpressionParser::parse_parenthesis(size_t line) {
  if (take_operator(")")) return make(ExpressionKind::kTuple, line);
  RILL_ASSIGN_OR_RETURN(ExpressionPtr node, parse_tuple());
  RILL_RETURN_IF_ERROR(expect_operator(")"));
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_list(size_t line) {
  ExpressionPtr node = make(ExpressionKind::kList, line);
  while (!take_operator("]")) {
    if (!node->children.empty()) {
      RILL_RETURN_IF_ERROR(expect_operator(","));
      if (take_operator("]")) break;
    }
    RILL_ASSIGN_OR_RETURN(ExpressionPtr item, parse_expression());
    node->adopt(std::move(item));
  }
  return node;
}

ExpressionParser::Parsed ExpressionParser::parse_dict(size_t line) {
  ExpressionPtr node = make(ExpressionKind::kDict, line);
  while (!take_operator("}")) {
    if (!node->children.empty()) {
      RILL_RETURN_IF_ERROR(expect_operator(","));
      if (take_operator("}")) break;
    }
    RILL_ASSIGN_OR_RETURN(ExpressionPtr key, parse_expression());
    RILL_RETURN_IF_ERROR(expect_operator(":"));
    RILL_ASSIGN_OR_RETURN(ExpressionPtr value, parse_expression());
    node->adopt(std::move(key));
    node->adopt(std::move(value));
  }
  return node;
}

}  // namespace rill::text::jinja
