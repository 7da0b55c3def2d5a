// SPDX-License-Identifier: Apache-2.0
// The parser's statements.
#include "text/jinja/parser.h"

#include <algorithm>

#include "base/str_cat.h"
#include "text/jinja/expression_parser.h"

namespace rill::text::jinja {
namespace {

using Statements = std::vector<Statement>;

class Parser : private ExpressionParser {
 public:
  explicit Parser(std::vector<Token> tokens) : ExpressionParser(std::move(tokens)) {}

  Result<Statements> parse() {
    RILL_ASSIGN_OR_RETURN(Statements statements, parse_body({}));
    if (current().type != TokenType::kEnd)
      return fail(cat("got ", shown(), ", expected a statement"));
    return statements;
  }

 private:
  static constexpr size_t kMaxNesting = 64;

  /// Statements up to a block whose name is one of `ends` (that block's name is then the current
  /// token) or the end.
  Result<Statements> parse_body(std::initializer_list<std::string_view> ends) {
    if (nesting_ >= kMaxNesting) return lacks(cat("statements nested deeper than ", kMaxNesting));
    ++nesting_;
    Statements statements;
    while (current().type != TokenType::kEnd) {
      const Token token = take();
      if (token.type == TokenType::kData) {
        Statement text;
        text.line = token.line;
        text.text = token.text;
        statements.push_back(std::move(text));
      } else if (token.type == TokenType::kVariableBegin) {
        RILL_ASSIGN_OR_RETURN(Statement print, parse_print(token.line));
        statements.push_back(std::move(print));
      } else {
        if (std::find(ends.begin(), ends.end(), current().text) != ends.end()) {
          --nesting_;
          return statements;
        }
        RILL_ASSIGN_OR_RETURN(Statement statement, parse_statement());
        statements.push_back(std::move(statement));
      }
    }
    if (ends.size() > 0)
      return fail(cat("got the end of the template, expected \"", *(ends.end() - 1), "\""));
    --nesting_;
    return statements;
  }

  Status end_block() {
    if (current().type != TokenType::kBlockEnd)
      return fail(cat("got ", shown(), ", expected \"%}\""));
    take();
    return {};
  }

  /// The body of a statement and the block that ends it.
  Result<Statements> parse_body_to(std::string_view end) {
    RILL_RETURN_IF_ERROR(end_block());
    RILL_ASSIGN_OR_RETURN(Statements body, parse_body({end}));
    take();
    RILL_RETURN_IF_ERROR(end_block());
    return body;
  }

  Result<Statement> parse_print(size_t line) {
    Statement print;
    print.kind = StatementKind::kPrint;
    print.line = line;
    RILL_ASSIGN_OR_RETURN(print.expression, parse_tuple());
    if (current().type != TokenType::kVariableEnd)
      return fail(cat("got ", shown(), ", expected \"}}\""));
    take();
    return print;
  }

  Result<Statement> parse_statement() {
    const size_t line = current().line;
    RILL_ASSIGN_OR_RETURN(const std::string name, expect_identifier());
    Result<Statement> statement = parse_named(name);
    if (statement) statement->line = line;
    return statement;
  }

  Result<Statement> parse_named(const std::string& name) {
    if (name == "if") return parse_if();
    if (name == "for") return parse_for();
    if (name == "set") return parse_set();
    if (name == "macro") return parse_macro();
    if (name == "generation") {
      Statement group;
      group.kind = StatementKind::kGroup;
      RILL_ASSIGN_OR_RETURN(group.body, parse_body_to("endgeneration"));
      return group;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) return fail(cat("\"", name, "\" outside a loop"));
      Statement jump;
      jump.kind = name == "break" ? StatementKind::kBreak : StatementKind::kContinue;
      RILL_RETURN_IF_ERROR(end_block());
      return jump;
    }
    static constexpr std::string_view kLacking[] = {"autoescape", "block",  "call",  "do",
                                                    "extends",    "filter", "from",  "import",
                                                    "include",    "raw",    "trans", "with"};
    if (std::find(std::begin(kLacking), std::end(kLacking), name) != std::end(kLacking)) {
      return lacks(cat("the statement \"", name, "\""));
    }
    return fail(cat("unknown statement \"", printable(name), "\""));
  }

  /// After "if" or "elif".
  Result<Statement> parse_if() {
    Statement statement;
    statement.kind = StatementKind::kIf;
    statement.line = current().line;
    RILL_ASSIGN_OR_RETURN(statement.expression, parse_tuple());
    RILL_RETURN_IF_ERROR(end_block());
    RILL_ASSIGN_OR_RETURN(statement.body, parse_body({"elif", "else", "endif"}));
    const std::string end = take().text;
    if (end == "elif") {
      if (++nesting_ > kMaxNesting) return lacks(cat("more than ", kMaxNesting, " \"elif\""));
      RILL_ASSIGN_OR_RETURN(Statement next, parse_if());
      --nesting_;
      statement.else_body.push_back(std::move(next));
      return statement;
    }
    if (end == "else") {
      RILL_ASSIGN_OR_RETURN(statement.else_body, parse_body_to("endif"));
      return statement;
    }
    RILL_RETURN_IF_ERROR(end_block());
    return statement;
  }

  /// "a" or "a, b".
  Status parse_targets(std::vector<std::string>& targets) {
    do {
      const size_t line = current().line;
      RILL_ASSIGN_OR_RETURN(std::string name, expect_identifier());
      static constexpr std::string_view kReserved[] = {"true", "True", "false", "False",
                                                       "none", "None", "loop",  "caller"};
      if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
        return template_error(ErrorCode::kInvalidFormat, line,
                              cat("cannot assign to \"", name, "\""));
      }
      targets.push_back(std::move(name));
    } while (take_operator(","));
    return {};
  }

  Result<Statement> parse_for() {
    Statement statement;
    statement.kind = StatementKind::kFor;
    const bool in_parenthesis = take_operator("(");
    RILL_RETURN_IF_ERROR(parse_targets(statement.targets));
    if (in_parenthesis) RILL_RETURN_IF_ERROR(expect_operator(")"));
    if (!take_name("in")) return fail(cat("got ", shown(), ", expected \"in\""));
    RILL_ASSIGN_OR_RETURN(statement.expression, parse_tuple(false));
    if (take_name("if")) {
      RILL_ASSIGN_OR_RETURN(statement.condition, parse_expression());
    }
    if (current().is_name("recursive")) return lacks("recursive loops");
    RILL_RETURN_IF_ERROR(end_block());
    ++loops_;
    Result<Statements> body = parse_body({"else", "endfor"});
    --loops_;
    if (!body) return std::move(body).error();
    statement.body = *std::move(body);
    if (take().text == "else") {
      RILL_ASSIGN_OR_RETURN(statement.else_body, parse_body_to("endfor"));
      return statement;
    }
    RILL_RETURN_IF_ERROR(end_block());
    return statement;
  }

  Result<Statement> parse_set() {
    Statement statement;
    statement.kind = StatementKind::kSet;
    if (ahead().is_operator(".")) {
      RILL_ASSIGN_OR_RETURN(statement.target_namespace, expect_identifier());
      take();
      RILL_ASSIGN_OR_RETURN(std::string member, expect_identifier());
      statement.targets.push_back(std::move(member));
    } else {
      RILL_RETURN_IF_ERROR(parse_targets(statement.targets));
    }
    if (take_operator("=")) {
      RILL_ASSIGN_OR_RETURN(statement.expression, parse_tuple());
      RILL_RETURN_IF_ERROR(end_block());
      return statement;
    }
    if (current().is_operator("|")) return lacks("filters on block assignments");
    if (statement.targets.size() > 1) return fail(cat("got ", shown(), ", expected \"=\""));
    const size_t loops = std::exchange(loops_, 0);
    Result<Statements> body = parse_body_to("endset");
    loops_ = loops;
    if (!body) return std::move(body).error();
    statement.body = *std::move(body);
    return statement;
  }

  Result<Statement> parse_macro() {
    Statement statement;
    statement.kind = StatementKind::kMacro;
    RILL_ASSIGN_OR_RETURN(statement.text, expect_identifier());
    RILL_RETURN_IF_ERROR(expect_operator("("));
    while (!take_operator(")")) {
      if (!statement.parameters.empty()) RILL_RETURN_IF_ERROR(expect_operator(","));
      Parameter parameter;
      RILL_ASSIGN_OR_RETURN(parameter.name, expect_identifier());
      if (take_operator("=")) {
        RILL_ASSIGN_OR_RETURN(parameter.fallback, parse_expression());
      }
      statement.parameters.push_back(std::move(parameter));
    }
    const size_t loops = std::exchange(loops_, 0);
    Result<Statements> body = parse_body_to("endmacro");
    loops_ = loops;
    if (!body) return std::move(body).error();
    statement.body = *std::move(body);
    return statement;
  }

  size_t nesting_ = 0;
  size_t loops_ = 0;  // loops around the current statement, inside the current macro
};

}  // namespace

Result<std::vector<Statement>> parse_template(std::string_view source) {
  RILL_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).parse();
}

}  // namespace rill::text::jinja
