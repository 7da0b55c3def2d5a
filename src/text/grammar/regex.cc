// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/regex.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "base/utf8.h"

namespace rill::text::grammar {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;
constexpr size_t kMaxDepth = 200;  // of groups
constexpr uint32_t kMaxCount = 1000000;

const CodePointSet& digit_set() {
  static const CodePointSet kSet{{'0', '9'}};
  return kSet;
}
const CodePointSet& word_set() {
  static const CodePointSet kSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return kSet;
}
const CodePointSet& space_set() {
  static const CodePointSet kSet{{'\t', '\r'}, {' ', ' '}};
  return kSet;
}
const CodePointSet& line_end_set() {
  static const CodePointSet kSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return kSet;
}

uint32_t add_lengths(uint32_t a, uint32_t b) { return a >= kUnlimited - b ? kUnlimited : a + b; }

uint32_t times(uint32_t length, uint32_t count) {
  const uint64_t product = uint64_t{length} * count;
  if (length == 0 || count == 0) return 0;
  if (length == kUnlimited || count == kUnlimited || product >= kUnlimited) return kUnlimited;
  return static_cast<uint32_t>(product);
}

class RegexParser {
 public:
  RegexParser(std::string_view pattern, Quoting quoting, Grammar& grammar)
      : text_(pattern), quoting_(quoting), grammar_(grammar) {}

  Result<RegexExpr> parse(Anchoring anchoring);

 private:
  Result<RegexExpr> parse_choice(size_t depth, Anchoring anchoring);
  Result<RegexExpr> parse_sequence(size_t depth, Anchoring anchoring);
  Result<RegexExpr> parse_atom(size_t depth);
  Result<RegexExpr> parse_group(size_t depth);
  Result<RegexExpr> parse_escape_atom();
  Result<RegexExpr> parse_class();
  Result<CodePointSet> parse_class_item();
  Result<std::optional<CodePointSet>> parse_set_escape();
  Result<char32_t> parse_character_escape();
  Result<char32_t> parse_hex(size_t begin, size_t digits);
  Result<RegexExpr> parse_quantifiers(RegexExpr atom);
  std::optional<std::pair<uint32_t, uint32_t>> parse_bounds();
  std::optional<uint32_t> parse_count();

  RegexExpr one_of(const CodePointSet& set) { return {character(grammar_, set, quoting_), 1, 1}; }
  RegexExpr anything();
  char32_t take_character();
  [[nodiscard]] bool is_at_end() const { return position_ >= text_.size(); }
  [[nodiscard]] char peek(size_t offset = 0) const {
    return position_ + offset < text_.size() ? text_[position_ + offset] : '\0';
  }
  bool take(std::string_view word) {
    if (text_.substr(std::min(position_, text_.size()), word.size()) != word) return false;
    position_ += word.size();
    return true;
  }
  static Error error_at(size_t position, ErrorCode code, const std::string& message) {
    return {code, cat("regex: byte ", position, ": ", message)};
  }
  [[nodiscard]] Error bad(const std::string& message) const {
    return error_at(position_, ErrorCode::kInvalidArgument, message);
  }
  static Error unsupported(size_t position, const char* what) {
    return error_at(position, ErrorCode::kUnsupported, cat(what, ": not supported"));
  }

  std::string_view text_;
  Quoting quoting_;
  Grammar& grammar_;
  size_t position_ = 0;
};

Result<RegexExpr> RegexParser::parse(Anchoring anchoring) {
  if (text_.size() > kMaxBytes) {
    return Error{ErrorCode::kUnsupported,
                 cat("regex: got ", text_.size(), " bytes, expected at most ", kMaxBytes)};
  }
  if (!is_valid_utf8(text_)) return Error{ErrorCode::kInvalidArgument, "regex: not UTF-8"};
  RILL_ASSIGN_OR_RETURN(const RegexExpr whole, parse_choice(0, anchoring));
  if (!is_at_end()) return bad("got ), expected a group that it closes");
  return whole;
}

Result<RegexExpr> RegexParser::parse_choice(size_t depth, Anchoring anchoring) {
  if (depth > kMaxDepth) return bad(cat("more than ", kMaxDepth, " groups inside each other"));
  std::vector<ExprId> options;
  RegexExpr out{0, kUnlimited, 0};
  do {
    RILL_ASSIGN_OR_RETURN(const RegexExpr option, parse_sequence(depth, anchoring));
    options.push_back(option.expr);
    out.min_length = std::min(out.min_length, option.min_length);
    out.max_length = std::max(out.max_length, option.max_length);
    out.repeats_one = options.size() == 1 && option.repeats_one;
  } while (take("|"));
  out.expr = grammar_.choice(options);
  return out;
}

RegexExpr RegexParser::anything() {
  const RegexExpr any = one_of(CodePointSet::all());
  return {grammar_.repeat(any.expr, 0, kUnlimited), 0, kUnlimited};
}

Result<RegexExpr> RegexParser::parse_sequence(size_t depth, Anchoring anchoring) {
  std::vector<RegexExpr> parts;
  const bool is_search = depth == 0 && anchoring == Anchoring::kSearch;
  if (depth == 0 && peek() == '^') {
    ++position_;
  } else if (is_search) {
    parts.push_back(anything());
  }
  bool ends_here = false;
  while (!is_at_end() && peek() != '|' && peek() != ')') {
    if (depth == 0 && peek() == '$') {
      ++position_;
      ends_here = true;
      if (!is_at_end() && peek() != '|' && peek() != ')')
        return unsupported(position_ - 1, "$ inside an expression");
      break;
    }
    RILL_ASSIGN_OR_RETURN(const RegexExpr atom, parse_atom(depth));
    RILL_ASSIGN_OR_RETURN(const RegexExpr part, parse_quantifiers(atom));
    parts.push_back(part);
    if (grammar_.is_too_large())
      return error_at(position_, ErrorCode::kUnsupported, "the expression is too large");
  }
  if (is_search && !ends_here) parts.push_back(anything());
  RegexExpr out;
  std::vector<ExprId> exprs;
  for (const RegexExpr& part : parts) {
    exprs.push_back(part.expr);
    out.min_length = add_lengths(out.min_length, part.min_length);
    out.max_length = add_lengths(out.max_length, part.max_length);
  }
  out.repeats_one = parts.size() == 1 && parts[0].repeats_one;
  out.expr = grammar_.sequence(exprs);
  return out;
}

char32_t RegexParser::take_character() {
  const Utf8Char c = decode_utf8(text_.substr(position_));
  position_ += c.bytes;
  return c.code_point;
}

Result<RegexExpr> RegexParser::parse_atom(size_t depth) {
  switch (peek()) {
    case '(':
      return parse_group(depth);
    case '[':
      return parse_class();
    case '.':
      ++position_;
      return one_of(line_end_set().complement());
    case '\\':
      return parse_escape_atom();
    case '^':
      return unsupported(position_, "^ inside an expression");
    case '$':
      return unsupported(position_, "$ inside an expression");
    case '*':
    case '+':
    case '?':
    case '{':
      if (peek() == '{' && !parse_bounds()) break;
      return bad("nothing stands in front of this repetition");
    default:
      break;
  }
  const char32_t c = take_character();
  return one_of({{c, c}});
}

Result<RegexExpr> RegexParser::parse_group(size_t depth) {
  const size_t begin = position_++;
  if (take("?")) {
    if (peek() == '=' || peek() == '!') return unsupported(begin, "lookahead assertions");
    if (take("P")) {
      if (peek() == '=') return unsupported(begin, "backreferences");
      if (peek() != '<') return unsupported(begin, "groups of this kind");
    }
    if (peek() == '<' && (peek(1) == '=' || peek(1) == '!'))
      return unsupported(begin, "lookbehind assertions");
    if (peek() == '>') return unsupported(begin, "atomic groups");
    if (take("<")) {
      while (!is_at_end() && peek() != '>') ++position_;
      if (!take(">")) return bad("this group's name is not closed");
    } else if (!take(":")) {
      return unsupported(begin, "inline flags and groups of this kind");
    }
  }
  RILL_ASSIGN_OR_RETURN(const RegexExpr inner, parse_choice(depth + 1, Anchoring::kWhole));
  if (!take(")")) return error_at(begin, ErrorCode::kInvalidArgument, "this group is not closed");
  return inner;
}

Result<RegexExpr> RegexParser::parse_escape_atom() {
  RILL_ASSIGN_OR_RETURN(const std::optional<CodePointSet> set, parse_set_escape());
  if (set) return one_of(*set);
  const char letter = peek(1);
  if (letter == 'b' || letter == 'B') return unsupported(position_, "word boundaries");
  if (letter == 'A' || letter == 'Z' || letter == 'z' || letter == 'G')
    return unsupported(position_, "anchors other than ^ and $");
  if ((letter >= '1' && letter <= '9') || letter == 'k')
    return unsupported(position_, "backreferences");
  RILL_ASSIGN_OR_RETURN(const char32_t c, parse_character_escape());
  return one_of({{c, c}});
}

/// \d \D \w \W \s \S, or nothing.
Result<std::optional<CodePointSet>> RegexParser::parse_set_escape() {
  std::optional<CodePointSet> set;
  switch (peek(1)) {
    case 'd':
      set = digit_set();
      break;
    case 'D':
      set = digit_set().complement();
      break;
    case 'w':
      set = word_set();
      break;
    case 'W':
      set = word_set().complement();
      break;
    case 's':
      set = space_set();
      break;
    case 'S':
      set = space_set().complement();
      break;
    case 'p':
    case 'P':
      return unsupported(position_, "character properties");
    default:
      return set;
  }
  position_ += 2;
  return set;
}

Result<char32_t> RegexParser::parse_hex(size_t begin, size_t digits) {
  uint32_t value = 0;
  for (size_t i = 0; i < digits; ++i, ++position_) {
    const char c = peek();
    const char lower = static_cast<char>(c | 0x20);
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(lower >= 'a' && lower <= 'f'))
      return error_at(begin, ErrorCode::kInvalidArgument, "an escape lacks hexadecimal digits");
    value = value * 16 + static_cast<uint32_t>(is_digit ? c - '0' : lower - 'a' + 10);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
    return error_at(begin, ErrorCode::kInvalidArgument, "this escape names no character");
  return char32_t{value};
}

Result<char32_t> RegexParser::parse_character_escape() {
  const size_t begin = position_++;
  if (is_at_end())
    return error_at(begin, ErrorCode::kInvalidArgument, "nothing follows the backslash");
  const char32_t letter = take_character();
  switch (letter) {
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    case '0':
      if (peek() < '0' || peek() > '9') return U'\0';
      return unsupported(begin, "octal escapes");
    case 'x':
      return parse_hex(begin, 2);
    case 'u': {
      if (!take("{")) return parse_hex(begin, 4);
      size_t digits = 0;
      while (digits < 6 && peek(digits) != '}' && position_ + digits < text_.size()) ++digits;
      if (digits == 0) return bad("an escape lacks hexadecimal digits");
      RILL_ASSIGN_OR_RETURN(const char32_t c, parse_hex(begin, digits));
      if (!take("}")) return bad("expected } behind the escape");
      return c;
    }
    default:
      break;
  }
  const bool is_letter = letter < 0x80 && word_set().contains(letter) && letter != '_';
  if (is_letter) return error_at(begin, ErrorCode::kUnsupported, "unknown escape");
  return letter;
}

Result<CodePointSet> RegexParser::parse_class_item() {
  if (peek() != '\\') {
    const char32_t c = take_character();
    return CodePointSet{{c, c}};
  }
  RILL_ASSIGN_OR_RETURN(const std::optional<CodePointSet> set, parse_set_escape());
  if (set) return *set;
  if (peek(1) == 'b') {
    position_ += 2;
    return CodePointSet{{'\b', '\b'}};
  }
  RILL_ASSIGN_OR_RETURN(const char32_t c, parse_character_escape());
  return CodePointSet{{c, c}};
}

Result<RegexExpr> RegexParser::parse_class() {
  const size_t begin = position_++;
  const bool is_negated = take("^");
  std::vector<CodePointSet::Range> ranges;
  const auto single = [](const CodePointSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].second;
  };
  while (!take("]")) {
    if (is_at_end())
      return error_at(begin, ErrorCode::kInvalidArgument, "this class is not closed");
    RILL_ASSIGN_OR_RETURN(const CodePointSet first, parse_class_item());
    if (peek() == '-' && peek(1) != ']' && position_ + 1 < text_.size() && single(first)) {
      const size_t dash = position_++;
      RILL_ASSIGN_OR_RETURN(const CodePointSet last, parse_class_item());
      if (!single(last) || last.ranges()[0].first < first.ranges()[0].first)
        return error_at(dash, ErrorCode::kInvalidArgument, "a range's ends are reversed");
      ranges.emplace_back(first.ranges()[0].first, last.ranges()[0].first);
      continue;
    }
    ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
  }
  CodePointSet set(std::move(ranges));
  return one_of(is_negated ? set.complement() : set);
}

std::optional<uint32_t> RegexParser::parse_count() {
  if (peek() < '0' || peek() > '9') return std::nullopt;
  uint32_t count = 0;
  for (; peek() >= '0' && peek() <= '9'; ++position_)
    count = std::min(kMaxCount + 1, count * 10 + static_cast<uint32_t>(peek() - '0'));
  return count;
}

/// {m}, {m,}, {m,n}, or nothing: then the brace is a character.
std::optional<std::pair<uint32_t, uint32_t>> RegexParser::parse_bounds() {
  const size_t begin = position_;
  take("{");
  const std::optional<uint32_t> min = parse_count();
  std::optional<uint32_t> max = min;
  if (min && take(",")) max = parse_count().value_or(kUnlimited);
  if (min && take("}")) return std::pair(*min, *max);
  position_ = begin;
  return std::nullopt;
}

Result<RegexExpr> RegexParser::parse_quantifiers(RegexExpr atom) {
  const size_t begin = position_;
  std::pair<uint32_t, uint32_t> bounds{1, 1};
  if (take("?")) {
    bounds = {0, 1};
  } else if (take("*")) {
    bounds = {0, kUnlimited};
  } else if (take("+")) {
    bounds = {1, kUnlimited};
  } else {
    if (peek() != '{') return atom;
    const auto counted = parse_bounds();
    if (!counted) return atom;
    bounds = *counted;
  }
  if (bounds.first > bounds.second)
    return error_at(begin, ErrorCode::kInvalidArgument, "a repetition's counts are reversed");
  if (bounds.first > kMaxCount || (bounds.second > kMaxCount && bounds.second != kUnlimited)) {
    return error_at(begin, ErrorCode::kUnsupported,
                    cat("a repetition counts to ", kMaxCount, " at most"));
  }
  take("?");  // lazy: the same texts
  if (peek() == '+') return unsupported(position_, "possessive repetitions");
  if (peek() == '*' || peek() == '?' || (peek() == '{' && parse_bounds()))
    return bad("a repetition stands behind a repetition");
  const bool repeats_one = atom.min_length == 1 && atom.max_length == 1 && !atom.repeats_one;
  return RegexExpr{grammar_.repeat(atom.expr, bounds.first, bounds.second),
                   times(atom.min_length, bounds.first), times(atom.max_length, bounds.second),
                   repeats_one && bounds != std::pair(1u, 1u)};
}

}  // namespace

Result<RegexExpr> add_regex(std::string_view pattern, Anchoring anchoring, Quoting quoting,
                            Grammar& grammar) {
  return RegexParser(pattern, quoting, grammar).parse(anchoring);
}

Result<Grammar> regex_grammar(std::string_view pattern) {
  Grammar grammar;
  RILL_ASSIGN_OR_RETURN(const RegexExpr whole,
                        add_regex(pattern, Anchoring::kWhole, Quoting::kNone, grammar));
  RILL_RETURN_IF_ERROR(grammar.finish(whole.expr));
  return grammar;
}

}  // namespace rill::text::grammar
