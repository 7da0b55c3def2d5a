// SPDX-License-Identifier: Apache-2.0
// parse_json: a recursive descent parser whose depth is bounded by JsonLimits.
#include <algorithm>

#include "base/json.h"
#include "base/parse_number.h"
#include "base/str_cat.h"
#include "base/utf8.h"

namespace rill {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Result<Json> parse() {
    skip_space();
    RILL_ASSIGN_OR_RETURN(Json value, parse_value(0));
    skip_space();
    if (pos_ != text_.size()) return fail(pos_, "expected the end of the text");
    return value;
  }

 private:
  // "got" shows what stands at the offset.
  [[nodiscard]] Error fail(size_t offset, std::string_view expected) const {
    const std::string got = offset < text_.size()
                                ? cat("got '", printable(text_.substr(offset, 1)), "'")
                                : "got the end";
    return Error{ErrorCode::kInvalidFormat,
                 cat("parse JSON: byte ", offset, ": ", got, ", ", expected)};
  }

  [[nodiscard]] char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }

  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\n' ||
                                   text_[pos_] == '\r' || text_[pos_] == '\t')) {
      ++pos_;
    }
  }

  bool take(char c) {
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  Result<Json> parse_value(size_t depth) {
    if (++values_ > limits_.max_values) {
      return Error{ErrorCode::kInvalidFormat, cat("parse JSON: byte ", pos_, ": got more than ",
                                                  limits_.max_values, " values")};
    }
    switch (peek()) {
      case '{':
        return parse_object(depth);
      case '[':
        return parse_array(depth);
      case '"': {
        RILL_ASSIGN_OR_RETURN(std::string text, parse_string());
        return Json::string(std::move(text));
      }
      case 't':
        return parse_word("true", Json::boolean(true));
      case 'f':
        return parse_word("false", Json::boolean(false));
      case 'n':
        return parse_word("null", Json());
      default:
        return parse_number();
    }
  }

  Result<Json> parse_word(std::string_view word, Json value) {
    if (text_.substr(pos_, word.size()) != word) return fail(pos_, cat("expected ", word));
    pos_ += word.size();
    return value;
  }

  Result<Json> parse_number() {
    const size_t begin = pos_;
    const bool negative = take('-');
    if (!is_digit(peek())) return fail(pos_, negative ? "expected a digit" : "expected a value");
    if (take('0')) {
      if (is_digit(peek())) return fail(pos_, "expected no digit after a leading zero");
    }
    skip_digits();
    bool integer = true;
    if (take('.')) {
      integer = false;
      if (!is_digit(peek())) return fail(pos_, "expected a digit after the point");
      skip_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      integer = false;
      ++pos_;
      if (!take('+')) take('-');
      if (!is_digit(peek())) return fail(pos_, "expected a digit in the exponent");
      skip_digits();
    }
    return number_from(text_.substr(begin, pos_ - begin), begin, integer);
  }

  Result<Json> number_from(std::string_view number, size_t begin, bool integer) const {
    if (integer && number != "-0") {
      if (const std::optional<int64_t> value = parse_int(number)) return Json::integer(*value);
    }
    if (const std::optional<double> value = parse_double(number)) {
      const bool big = integer && number != "-0";
      return big ? Json::big_integer(std::string(number)) : Json::number(*value);
    }
    return Error{ErrorCode::kInvalidFormat,
                 cat("parse JSON: byte ", begin, ": got ", printable(number, 40),
                     ", expected a number that fits a double")};
  }

  void skip_digits() {
    while (is_digit(peek())) ++pos_;
  }

  Result<Json> parse_array(size_t depth) {
    if (depth >= limits_.max_depth) return too_deep();
    ++pos_;
    Json::Array items;
    skip_space();
    if (take(']')) return Json::array();
    while (true) {
      skip_space();
      RILL_ASSIGN_OR_RETURN(Json item, parse_value(depth + 1));
      items.push_back(std::move(item));
      skip_space();
      if (take(']')) return Json::array(std::move(items));
      if (!take(',')) return fail(pos_, "expected ',' or ']'");
    }
  }

  Result<Json> parse_object(size_t depth) {
    if (depth >= limits_.max_depth) return too_deep();
    const size_t begin = pos_++;
    Json::Object members;
    skip_space();
    if (take('}')) return Json::object();
    while (true) {
      skip_space();
      if (peek() != '"') return fail(pos_, "expected a key");
      RILL_ASSIGN_OR_RETURN(std::string key, parse_string());
      skip_space();
      if (!take(':')) return fail(pos_, "expected ':'");
      skip_space();
      RILL_ASSIGN_OR_RETURN(Json value, parse_value(depth + 1));
      members.emplace_back(std::move(key), std::move(value));
      skip_space();
      if (take('}')) break;
      if (!take(',')) return fail(pos_, "expected ',' or '}'");
    }
    RILL_RETURN_IF_ERROR(check_keys(members, begin));
    return Json::object(std::move(members));
  }

  // Sorting keeps this n log n: a vocabulary has 128k keys.
  static Status check_keys(const Json::Object& members, size_t begin) {
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const auto& member : members) keys.push_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return {};
    return Error{ErrorCode::kInvalidFormat, cat("parse JSON: object at byte ", begin,
                                                ": got the key \"", printable(*twice), "\" twice")};
  }

  [[nodiscard]] Error too_deep() const {
    return Error{
        ErrorCode::kInvalidFormat,
        cat("parse JSON: byte ", pos_, ": got nesting deeper than ", limits_.max_depth, " levels")};
  }

  Result<std::string> parse_string() {
    const size_t begin = pos_++;
    std::string out;
    while (true) {
      const size_t plain = pos_;
      while (pos_ < text_.size() && is_plain(text_[pos_])) ++pos_;
      out += text_.substr(plain, pos_ - plain);
      if (pos_ >= text_.size())
        return fail(pos_, cat("expected the end of the string begun at byte ", begin));
      const char c = text_[pos_];
      if (c == '"') {
        ++pos_;
        return out;
      }
      if (c == '\\') {
        RILL_RETURN_IF_ERROR(parse_escape(out));
      } else if (static_cast<unsigned char>(c) < 0x20) {
        return fail(pos_, "expected control characters to be escaped");
      } else {
        const Utf8Char decoded = decode_utf8(text_.substr(pos_, 4));
        if (!decoded.valid) return fail(pos_, "expected UTF-8");
        out += text_.substr(pos_, decoded.bytes);
        pos_ += decoded.bytes;
      }
    }
  }

  static bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
  }

  Status parse_escape(std::string& out) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const size_t begin = pos_++;
    const char c = peek();
    if (c == 'u') {
      ++pos_;
      return parse_unicode(begin, out);
    }
    const size_t index = kNames.find(c);
    if (pos_ >= text_.size() || index == std::string_view::npos)
      return fail(pos_, "expected an escape");
    ++pos_;
    out += kValues[index];
    return {};
  }

  // Four hex digits at the position; a value past 0xFFFF if there are none.
  uint32_t take_hex4() {
    if (text_.size() - pos_ < 4) return 0x10000;
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      const char c = text_[pos_ + i];
      const char lower = static_cast<char>(c | 0x20);
      if (is_digit(c)) {
        value = value * 16 + static_cast<uint32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + static_cast<uint32_t>(lower - 'a' + 10);
      } else {
        return 0x10000;
      }
    }
    pos_ += 4;
    return value;
  }

  Status parse_unicode(size_t begin, std::string& out) {
    const uint32_t unit = take_hex4();
    if (unit > 0xFFFF) return fail(begin, "expected four hex digits after \\u");
    if (unit < 0xD800 || unit > 0xDFFF) {
      append_utf8(static_cast<char32_t>(unit), out);
      return {};
    }
    // A high surrogate followed by an escaped low one is one character; any other surrogate stands
    // alone.
    const size_t after = pos_;
    if (unit < 0xDC00 && text_.substr(pos_, 2) == "\\u") {
      pos_ += 2;
      const uint32_t low = take_hex4();
      if (low >= 0xDC00 && low <= 0xDFFF) {
        append_utf8(static_cast<char32_t>(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), out);
        return {};
      }
      pos_ = after;
    }
    append_utf8(kReplacementChar, out);
    return {};
  }

  std::string_view text_;
  const JsonLimits& limits_;
  size_t pos_ = 0;
  size_t values_ = 0;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error{ErrorCode::kInvalidFormat, cat("parse JSON: got ", text.size(),
                                                " bytes, expected at most ", limits.max_bytes)};
  }
  return Parser(text, limits).parse();
}

}  // namespace rill
