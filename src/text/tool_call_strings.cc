// SPDX-License-Identifier: Apache-2.0
// ToolCallParser's strings: quotes, escapes, and where a string ends.
#include <algorithm>
#include <optional>

#include "text/jinja/string_literal.h"
#include "text/tool_call_parser.h"

namespace rill::text {
namespace {

bool is_hex_digit(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f');
}

bool is_high_surrogate(std::string_view escape) {
  const char third = static_cast<char>(escape[3] | 0x20);
  return (escape[2] | 0x20) == 'd' &&
         (escape[3] == '8' || escape[3] == '9' || third == 'a' || third == 'b');
}

/// Bytes of the \uXXXX that may complete the surrogate pair begun before `text`: 6, none (0), or
/// nothing: more is needed.
std::optional<size_t> second_half_size(std::string_view text, bool is_ended) {
  size_t fits = 0;
  for (; fits < std::min<size_t>(text.size(), 6); ++fits) {
    const char c = text[fits];
    const bool is_expected = fits == 0   ? c == '\\'
                             : fits == 1 ? c == 'u'
                             : fits == 2 ? (c | 0x20) == 'd'
                             : fits == 3 ? (c | 0x20) >= 'c' && (c | 0x20) <= 'f'
                                         : is_hex_digit(c);
    if (!is_expected) return 0;
  }
  if (fits == 6) return 6;
  if (is_ended) return 0;
  return std::nullopt;
}

/// Bytes of the escape at the start of text; 0 if more text is needed to tell.
size_t escape_size(std::string_view text, bool is_ended) {
  if (text.size() < 2) return is_ended ? 1 : 0;
  const char letter = text[1];
  if (letter >= '0' && letter <= '7') {
    size_t size = 2;
    while (size < 4 && size < text.size() && text[size] >= '0' && text[size] <= '7') ++size;
    return size < 4 && size == text.size() && !is_ended ? 0 : size;
  }
  if (letter != 'x' && letter != 'u' && letter != 'U') return 2;
  const size_t wanted = letter == 'x' ? 4 : letter == 'u' ? 6 : 10;
  size_t size = 2;
  while (size < std::min(wanted, text.size()) && is_hex_digit(text[size])) ++size;
  // Without all of its digits it is no escape: a Windows path, say.
  if (size < wanted) return size == text.size() && !is_ended ? 0 : 2;
  if (wanted != 6 || !is_high_surrogate(text)) return wanted;
  const std::optional<size_t> second = second_half_size(text.substr(6), is_ended);
  return second ? 6 + *second : 0;
}

}  // namespace

bool ToolCallParser::begin_string(size_t prefix) {
  const size_t after = prefix + 3;
  if (!has(after - 1) && !is_ended_) {
    // Two quotes may be an empty string or the start of three.
    const bool may_be_triple = !has(prefix + 1) || at(prefix + 1) == at(prefix);
    if (may_be_triple) return false;
  }
  quote_ = at(prefix);
  is_triple_ = has(after - 1) && at(prefix + 1) == quote_ && at(prefix + 2) == quote_;
  is_raw_ = false;
  for (size_t i = 0; i < prefix; ++i) is_raw_ = is_raw_ || (at(i) | 0x20) == 'r';
  consume(is_triple_ ? after : prefix + 1);
  const Frame& frame = frames_.back();
  const bool is_key = frame.has_keys && frame.wants_key;
  const bool wants_other =
      frames_.size() == 1 && type_ != ParameterType::kUnknown && type_ != ParameterType::kString;
  is_streamed_ = !is_key && !wants_other;
  token_.clear();
  if (!is_key) begin_value();
  if (is_streamed_ && !is_muted()) print("\"");
  state_ = State::kString;
  return true;
}

/// Passes text of a string on, up to the end of the string or of the text.
bool ToolCallParser::step_string() {
  while (has(0)) {
    const size_t plain =
        std::min(rest().find_first_of(quote_ == '"' ? "\\\"" : "\\'"), rest().size());
    if (plain > 0) {
      print_text(rest().substr(0, plain));
      consume(plain);
      continue;
    }
    if (!(at(0) == '\\' ? take_escape() : take_delimiter())) return false;
    if (state_ != State::kString) return true;
  }
  return false;
}

/// Takes one escape; false if more text is needed.
bool ToolCallParser::take_escape() {
  const size_t size = is_raw_ ? std::min<size_t>(rest().size(), 2) : escape_size(rest(), is_ended_);
  if (size == 0 || (size < 2 && !is_ended_)) return false;
  const std::string escape(rest().substr(0, size));
  consume(size);
  const std::string value =
      is_raw_ ? escape : jinja::unescape_python_string(escape).value_or(escape);
  print_text(value);
  return true;
}

/// Text of a string: to the output, or kept until the string ends.
void ToolCallParser::print_text(std::string_view text) {
  if (!is_streamed_) {
    token_ += text;
  } else if (!is_muted()) {
    std::string escaped;
    append_json_escaped(text, escaped);
    print(escaped);
  }
}

/// At the quote: ends the string or takes the quote as text; false if more text is needed.
bool ToolCallParser::take_delimiter() {
  Decision ends = Decision::kNo;
  if (is_triple_) {
    const size_t quotes = rest().find_first_not_of(quote_);
    const bool is_all = quotes == std::string_view::npos;
    const size_t count = is_all ? rest().size() : quotes;
    if (count < 3 && is_all && !is_ended_) return false;
    ends = count >= 3 ? Decision::kYes : Decision::kNo;
  } else {
    ends = string_ends(1);
  }
  if (ends == Decision::kNeedMore) return false;
  if (ends == Decision::kYes) {
    consume(is_triple_ ? 3 : 1);
    close_string();
    return true;
  }
  print_text(std::string_view(&quote_, 1));
  consume(1);
  return true;
}

/// Whether what follows a quote can follow a value.
ToolCallParser::Decision ToolCallParser::string_ends(size_t after) const {
  const size_t next = skip_spaces(after);
  if (next - after > kMaxLookahead) return Decision::kNo;
  if (!has(next)) return is_ended_ ? Decision::kYes : Decision::kNeedMore;
  const Frame& frame = frames_.back();
  const char c = at(next);
  if (frame.has_keys && frame.wants_key) return c == ':' ? Decision::kYes : Decision::kNo;
  if (frames_.size() > 1) return c == ',' || c == frame.closer ? Decision::kYes : Decision::kNo;
  if (c == ')') return call_continues(next + 1);
  if (c != ',') return Decision::kNo;
  const size_t following = skip_spaces(next + 1);
  if (has(following) && at(following) == ')') return call_continues(following + 1);
  return is_next_argument(next + 1);
}

void ToolCallParser::close_string() {
  state_ = State::kAfterValue;
  Frame& frame = frames_.back();
  if (frame.has_keys && frame.wants_key) {
    finish_key(token_);
    return;
  }
  frame.wants_key = true;
  if (is_muted()) return;
  if (is_streamed_) {
    print("\"");
  } else {
    print(coerce_text(token_, type_).value_or(json_quoted(token_)));
  }
}

}  // namespace rill::text
