// SPDX-License-Identifier: Apache-2.0
// The lexer: template text to tokens, with Jinja's white space rules as chat templates are run
// (trim_blocks and lstrip_blocks on, one trailing newline of the template dropped, line ends read
// as "\n").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::text::jinja {

enum class TokenType {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;  ///< data, name, operator, the value of a string, the digits of a number
  size_t line = 1;

  [[nodiscard]] bool is_operator(std::string_view op) const {
    return type == TokenType::kOperator && text == op;
  }
  [[nodiscard]] bool is_name(std::string_view name) const {
    return type == TokenType::kName && text == name;
  }
};

/// Errors: kInvalidFormat with the line: an open comment, string or tag, an unbalanced bracket, a
/// stray character.
Result<std::vector<Token>> tokenize(std::string_view source);

/// "chat template: line N: what".
Error template_error(ErrorCode code, size_t line, const std::string& what);

}  // namespace rill::text::jinja
