// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/gbnf.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/grammar/code_points.h"

namespace rill::text::grammar {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxDepth = 200;  // of groups
constexpr uint32_t kMaxCount = 1000000;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<Grammar> parse();

 private:
  struct Rule {
    RuleId id;
    bool is_defined = false;
    size_t first_use = 0;
  };

  Status parse_rule();
  Result<ExprId> parse_choice(size_t depth);
  Result<ExprId> parse_sequence(size_t depth);
  Result<ExprId> parse_item(size_t depth);
  Result<ExprId> parse_quantifiers(ExprId item);
  Result<std::pair<uint32_t, uint32_t>> parse_bounds();
  Result<uint32_t> parse_count();
  Result<ExprId> parse_literal();
  Result<ExprId> parse_class();
  Result<char32_t> parse_character();
  Result<char32_t> parse_escape();

  Rule& rule_named(std::string_view name);
  std::string_view parse_name();
  void skip_space(bool with_newlines);
  [[nodiscard]] bool at_rule_start() const;
  [[nodiscard]] bool is_at_end() const { return position_ >= text_.size(); }
  [[nodiscard]] char peek(size_t offset = 0) const {
    return position_ + offset < text_.size() ? text_[position_ + offset] : '\0';
  }
  bool take(char c) {
    if (is_at_end() || peek() != c) return false;
    ++position_;
    return true;
  }
  [[nodiscard]] Error error_at(size_t position, ErrorCode code, const std::string& message) const;
  [[nodiscard]] Error bad(const std::string& message) const {
    return error_at(position_, ErrorCode::kInvalidArgument, message);
  }

  std::string_view text_;
  size_t position_ = 0;
  Grammar grammar_;
  std::map<std::string, Rule, std::less<>> rules_;
};

Error GbnfParser::error_at(size_t position, ErrorCode code, const std::string& message) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t column = count_code_points(before.substr(start)) + 1;
  return {code, cat("grammar: line ", line, ", column ", column, ": ", message)};
}

void GbnfParser::skip_space(bool with_newlines) {
  while (!is_at_end()) {
    const char c = peek();
    if (c == '#') {
      while (!is_at_end() && peek() != '\n') ++position_;
    } else if (c == ' ' || c == '\t' || (with_newlines && (c == '\n' || c == '\r'))) {
      ++position_;
    } else {
      return;
    }
  }
}

/// Whether "name ::=" stands here.
bool GbnfParser::at_rule_start() const {
  size_t i = 0;
  while (is_name_char(peek(i))) ++i;
  if (i == 0) return false;
  while (peek(i) == ' ' || peek(i) == '\t') ++i;
  return text_.substr(std::min(position_ + i, text_.size()), 3) == "::=";
}

std::string_view GbnfParser::parse_name() {
  const size_t begin = position_;
  while (is_name_char(peek())) ++position_;
  return text_.substr(begin, position_ - begin);
}

GbnfParser::Rule& GbnfParser::rule_named(std::string_view name) {
  const auto known = rules_.find(name);
  if (known != rules_.end()) return known->second;
  const RuleId id = grammar_.add_rule(std::string(name));
  return rules_.emplace(std::string(name), Rule{id, false, position_ - name.size()}).first->second;
}

Result<Grammar> GbnfParser::parse() {
  if (text_.size() > kMaxBytes) {
    return Error{ErrorCode::kUnsupported,
                 cat("grammar: got ", text_.size(), " bytes, expected at most ", kMaxBytes)};
  }
  if (!is_valid_utf8(text_)) return Error{ErrorCode::kInvalidArgument, "grammar: not UTF-8"};
  skip_space(true);
  while (!is_at_end()) {
    RILL_RETURN_IF_ERROR(parse_rule());
    skip_space(true);
  }
  const auto root = rules_.find("root");
  if (root == rules_.end() || !root->second.is_defined)
    return bad("got no rule root, expected \"root ::= ...\"");
  for (const auto& [name, rule] : rules_) {
    if (!rule.is_defined) {
      return error_at(rule.first_use, ErrorCode::kInvalidArgument,
                      cat("rule ", printable(name), " is not defined"));
    }
  }
  RILL_RETURN_IF_ERROR(grammar_.finish(grammar_.rule(root->second.id)));
  return std::move(grammar_);
}

Status GbnfParser::parse_rule() {
  const size_t begin = position_;
  if (!at_rule_start()) return bad("expected a rule, \"name ::= ...\"");
  const std::string_view name = parse_name();
  Rule& rule = rule_named(name);
  if (rule.is_defined) {
    return error_at(begin, ErrorCode::kInvalidArgument,
                    cat("rule ", printable(name), " is defined twice"));
  }
  rule.is_defined = true;
  skip_space(false);
  position_ += 3;  // ::=
  RILL_ASSIGN_OR_RETURN(const ExprId body, parse_choice(0));
  grammar_.set_rule(rule.id, body);
  if (!is_at_end() && !at_rule_start())
    return bad(cat("got ", printable(text_.substr(position_, 1)), ", expected another rule"));
  return {};
}

/// Up to the next rule, or up to the ")" of a group.
Result<ExprId> GbnfParser::parse_choice(size_t depth) {
  if (depth > kMaxDepth) return bad(cat("more than ", kMaxDepth, " groups inside each other"));
  std::vector<ExprId> options;
  do {
    RILL_ASSIGN_OR_RETURN(const ExprId option, parse_sequence(depth));
    options.push_back(option);
  } while (take('|'));
  return grammar_.choice(options);
}

Result<ExprId> GbnfParser::parse_sequence(size_t depth) {
  std::vector<ExprId> parts;
  while (true) {
    skip_space(true);
    if (is_at_end() || peek() == '|' || peek() == ')' || at_rule_start()) break;
    RILL_ASSIGN_OR_RETURN(const ExprId item, parse_item(depth));
    RILL_ASSIGN_OR_RETURN(const ExprId part, parse_quantifiers(item));
    parts.push_back(part);
    if (grammar_.is_too_large())
      return error_at(position_, ErrorCode::kUnsupported, "the grammar is too large");
  }
  return grammar_.sequence(parts);
}

Result<ExprId> GbnfParser::parse_item(size_t depth) {
  const char c = peek();
  if (is_name_char(c)) return grammar_.rule(rule_named(parse_name()).id);
  if (c == '"') return parse_literal();
  if (c == '[') return parse_class();
  if (c == '.') {
    ++position_;
    return character(grammar_, CodePointSet::all(), Quoting::kNone);
  }
  if (c == '(') {
    const size_t begin = position_++;
    RILL_ASSIGN_OR_RETURN(const ExprId inner, parse_choice(depth + 1));
    if (!take(')')) return error_at(begin, ErrorCode::kInvalidArgument, "this group is not closed");
    return inner;
  }
  if (c == '<' || c == '!') {
    return error_at(position_, ErrorCode::kUnsupported, "token references are not supported");
  }
  return bad(cat("unexpected ", printable(text_.substr(position_, 1))));
}

Result<ExprId> GbnfParser::parse_quantifiers(ExprId item) {
  while (true) {
    skip_space(false);
    if (take('?')) {
      item = grammar_.repeat(item, 0, 1);
    } else if (take('*')) {
      item = grammar_.repeat(item, 0, kUnlimited);
    } else if (take('+')) {
      item = grammar_.repeat(item, 1, kUnlimited);
    } else if (peek() == '{') {
      RILL_ASSIGN_OR_RETURN(const auto bounds, parse_bounds());
      item = grammar_.repeat(item, bounds.first, bounds.second);
    } else {
      return item;
    }
  }
}

/// {m}, {m,} or {m,n}
Result<std::pair<uint32_t, uint32_t>> GbnfParser::parse_bounds() {
  const size_t begin = position_++;
  skip_space(false);
  uint32_t min = 0;
  if (peek() != ',') {
    RILL_ASSIGN_OR_RETURN(min, parse_count());
  }
  uint32_t max = min;
  skip_space(false);
  if (take(',')) {
    skip_space(false);
    max = kUnlimited;
    if (peek() != '}') {
      RILL_ASSIGN_OR_RETURN(max, parse_count());
    }
    skip_space(false);
  }
  if (!take('}')) return bad("expected } behind the counts of a repetition");
  if (min > max)
    return error_at(begin, ErrorCode::kInvalidArgument, "a repetition's counts are reversed");
  return std::pair(min, max);
}

Result<uint32_t> GbnfParser::parse_count() {
  const size_t begin = position_;
  uint32_t count = 0;
  while (peek() >= '0' && peek() <= '9') {
    count = count * 10 + static_cast<uint32_t>(peek() - '0');
    ++position_;
    if (count > kMaxCount) return bad(cat("a repetition counts to ", kMaxCount, " at most"));
  }
  if (position_ == begin) return bad("expected a count");
  return count;
}

Result<ExprId> GbnfParser::parse_literal() {
  const size_t begin = position_++;
  std::string text;
  while (!take('"')) {
    if (is_at_end() || peek() == '\n')
      return error_at(begin, ErrorCode::kInvalidArgument, "this literal is not closed");
    RILL_ASSIGN_OR_RETURN(const char32_t c, parse_character());
    append_utf8(c, text);
  }
  return grammar_.literal(text);
}

Result<ExprId> GbnfParser::parse_class() {
  const size_t begin = position_++;
  const bool is_negated = take('^');
  std::vector<CodePointSet::Range> ranges;
  while (!take(']')) {
    if (is_at_end() || peek() == '\n')
      return error_at(begin, ErrorCode::kInvalidArgument, "this class is not closed");
    RILL_ASSIGN_OR_RETURN(const char32_t first, parse_character());
    char32_t last = first;
    if (peek() == '-' && peek(1) != ']') {
      ++position_;
      if (is_at_end()) continue;
      RILL_ASSIGN_OR_RETURN(last, parse_character());
      if (last < first) return bad("a range's ends are reversed");
    }
    ranges.emplace_back(first, last);
  }
  CodePointSet set(std::move(ranges));
  if (is_negated) set = set.complement();
  return character(grammar_, set, Quoting::kNone);
}

Result<char32_t> GbnfParser::parse_character() {
  if (peek() == '\\') return parse_escape();
  const Utf8Char c = decode_utf8(text_.substr(position_));
  position_ += c.bytes;
  return c.code_point;
}

Result<char32_t> GbnfParser::parse_escape() {
  const size_t begin = position_++;
  const char letter = peek();
  ++position_;
  switch (letter) {
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^':
      return static_cast<char32_t>(letter);
    default:
      break;
  }
  const size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  const auto unknown = [&] {
    return error_at(begin, ErrorCode::kInvalidArgument, "unknown escape");
  };
  if (digits == 0) return unknown();
  uint64_t value = 0;
  for (size_t i = 0; i < digits; ++i, ++position_) {
    const char c = peek();
    const char lower = static_cast<char>(c | 0x20);
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(lower >= 'a' && lower <= 'f')) return unknown();
    value = value * 16 + static_cast<uint64_t>(is_digit ? c - '0' : lower - 'a' + 10);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return error_at(begin, ErrorCode::kInvalidArgument, "this escape names no character");
  }
  return static_cast<char32_t>(value);
}

}  // namespace

Result<Grammar> gbnf_grammar(std::string_view text) { return GbnfParser(text).parse(); }

}  // namespace rill::text::grammar
