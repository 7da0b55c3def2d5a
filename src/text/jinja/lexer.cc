// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/lexer.h"

#include <algorithm>
#include <optional>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/jinja/python_text.h"
#include "text/jinja/string_literal.h"

namespace rill::text::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// "\r\n" and "\r" become "\n"; one newline at the end goes.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

size_t count_newlines(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (position_ < source_.size()) RILL_RETURN_IF_ERROR(lex_root());
    add(TokenType::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] Error fail(const std::string& what) const {
    return template_error(ErrorCode::kInvalidFormat, line_, what);
  }
  void add(TokenType type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }
  [[nodiscard]] std::string_view rest() const {
    return std::string_view(source_).substr(position_);
  }
  [[nodiscard]] bool at(std::string_view text) const {
    return rest().substr(0, text.size()) == text;
  }

  void advance(size_t bytes) {
    const std::string_view passed = rest().substr(0, bytes);
    line_ += count_newlines(passed);
    if (!passed.empty()) line_starting_ = passed.back() == '\n';
    position_ += bytes;
  }

  /// Data up to the next tag, then the tag.
  Status lex_root() {
    const size_t begin = position_;
    size_t tag = begin;
    for (; tag < source_.size(); ++tag) {
      if (source_[tag] != '{' || tag + 1 == source_.size()) continue;
      const char next = source_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    std::string_view data = rest().substr(0, tag - begin);
    if (tag == source_.size()) {
      if (!data.empty()) add(TokenType::kData, std::string(data));
      advance(data.size());
      return {};
    }
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const size_t whole = data.size();
    if (sign == '-') {
      data = strip(data, std::nullopt, StripSide::kRight);
    } else if (sign != '+' && kind != '{') {
      data = without_indentation(data);
    }
    if (!data.empty()) add(TokenType::kData, std::string(data));
    advance(whole + 2 + (sign == '-' || sign == '+' ? 1 : 0));
    if (kind == '#') return lex_comment();
    const bool is_block = kind == '%';
    add(is_block ? TokenType::kBlockBegin : TokenType::kVariableBegin, "");
    return lex_tag(is_block);
  }

  /// lstrip_blocks: white space between the start of a line and a block goes.
  [[nodiscard]] std::string_view without_indentation(std::string_view data) const {
    const size_t newline = data.rfind('\n');
    const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
    if (line_begin == 0 && !line_starting_) return data;
    const bool blank = strip(data.substr(line_begin), std::nullopt, StripSide::kLeft).empty();
    return blank ? data.substr(0, line_begin) : data;
  }

  void skip_white_space() {
    const std::string_view left = rest();
    advance(left.size() - strip(left, std::nullopt, StripSide::kLeft).size());
  }

  /// Passes the end of a block or comment; trim_blocks takes the newline after it.
  void pass_end(char sign) {
    advance(sign == '\0' ? 2 : 3);
    if (sign == '-') {
      skip_white_space();
    } else if (sign == '\0' && at("\n")) {
      advance(1);
    }
  }

  Status lex_comment() {
    const size_t end = rest().find("#}");
    if (end == std::string_view::npos) return fail("expected the end of the comment");
    const char before = end > 0 ? rest()[end - 1] : '\0';
    const char sign = before == '-' || before == '+' ? before : '\0';
    advance(sign == '\0' ? end : end - 1);
    pass_end(sign);
    return {};
  }

  /// Tokens up to the end of a {{ }} or {% %}.
  Status lex_tag(bool is_block) {
    const std::string_view end = is_block ? "%}" : "}}";
    while (true) {
      skip_white_space();
      if (position_ == source_.size()) return fail(cat("expected \"", end, "\""));
      if (open_brackets_.empty() && pass_tag_end(is_block)) return {};
      RILL_RETURN_IF_ERROR(lex_token());
    }
  }

  bool pass_tag_end(bool is_block) {
    const std::string_view end = is_block ? "%}" : "}}";
    char sign = '\0';
    if (rest().substr(1, 2) == end && (at("-") || (is_block && at("+")))) sign = rest()[0];
    if (sign == '\0' && !at(end)) return false;
    add(is_block ? TokenType::kBlockEnd : TokenType::kVariableEnd, "");
    if (is_block) {
      pass_end(sign);
    } else {
      advance(sign == '\0' ? 2 : 3);
      if (sign == '-') skip_white_space();
    }
    return true;
  }

  Status lex_token() {
    const char c = rest()[0];
    if (is_digit(c)) return lex_number();
    if (is_name_start(c)) {
      size_t size = 1;
      while (size < rest().size() && (is_name_start(rest()[size]) || is_digit(rest()[size])))
        ++size;
      add(TokenType::kName, std::string(rest().substr(0, size)));
      advance(size);
      return {};
    }
    if (c == '"' || c == '\'') return lex_string(c);
    return lex_operator();
  }

  [[nodiscard]] size_t digits_end(size_t from) const {
    size_t end = from;
    while (end < rest().size() && (is_digit(rest()[end]) || (rest()[end] == '_' && end > from)))
      ++end;
    return end;
  }

  Status lex_number() {
    size_t end = digits_end(0);
    bool is_float = false;
    const std::string_view left = rest();
    // "a.1.0" is two subscripts.
    const bool is_subscript = !tokens_.empty() && tokens_.back().is_operator(".");
    if (!is_subscript && end + 1 < left.size() && left[end] == '.' && is_digit(left[end + 1])) {
      is_float = true;
      end = digits_end(end + 1);
    }
    if (end < left.size() && (left[end] == 'e' || left[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < left.size() && (left[exponent] == '+' || left[exponent] == '-')) ++exponent;
      if (exponent < left.size() && is_digit(left[exponent])) {
        is_float = true;
        end = digits_end(exponent);
      }
    }
    std::string digits(left.substr(0, end));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (end < left.size() && is_name_start(left[end]))
      return fail(cat("bad number \"", digits, left[end], "\""));
    add(is_float ? TokenType::kFloat : TokenType::kInteger, std::move(digits));
    advance(end);
    return {};
  }

  Status lex_string(char quote) {
    size_t end = 1;
    while (end < rest().size() && rest()[end] != quote) end += rest()[end] == '\\' ? 2 : 1;
    if (end >= rest().size()) return fail("expected the end of the string");
    std::optional<std::string> value = unescape_python_string(rest().substr(1, end - 1));
    if (!value) return fail("bad escape in a string");
    add(TokenType::kString, *std::move(value));
    advance(end + 1);
    return {};
  }

  Status lex_operator() {
    static constexpr std::string_view kOperators[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view op : kOperators) {
      if (!at(op)) continue;
      RILL_RETURN_IF_ERROR(balance(op[0]));
      add(TokenType::kOperator, std::string(op));
      advance(op.size());
      return {};
    }
    return fail(cat("unexpected character \"", printable(rest().substr(0, 1)), "\""));
  }

  Status balance(char c) {
    if (c == '(' || c == '[' || c == '{') {
      open_brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_brackets_.empty() || open_brackets_.back() != c)
        return fail(cat("unexpected \"", c, "\""));
      open_brackets_.pop_back();
    }
    return {};
  }

  std::string source_;
  size_t position_ = 0;
  size_t line_ = 1;
  bool line_starting_ = true;  // the last thing passed ended a line
  std::string open_brackets_;  // the closing brackets that are due
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(normalize_newlines(source)).run();
}

Error template_error(ErrorCode code, size_t line, const std::string& what) {
  return {code, cat("chat template: line ", line, ": ", what)};
}

}  // namespace rill::text::jinja
