// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/string_literal.h"

#include "base/utf8.h"

namespace rill::text::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

/// The number in up to `max_digits` digits of the base at the start of text; `digits` is how many
/// there are.
uint32_t leading_number(std::string_view text, int base, size_t max_digits, size_t& digits) {
  uint32_t value = 0;
  for (digits = 0; digits < max_digits && digits < text.size() && digit_value(text[digits]) < base;
       ++digits) {
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit_value(text[digits]));
  }
  return value;
}

bool is_high_surrogate(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

/// \xNN, \uNNNN, \UNNNNNNNN: `text` starts at the letter. Bytes consumed, or 0.
size_t append_hex_escape(std::string_view text, std::string& out) {
  const size_t wanted = text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : 8;
  size_t digits = 0;
  uint32_t code = leading_number(text.substr(1), 16, wanted, digits);
  if (digits != wanted || code > 0x10FFFF) return 0;
  size_t used = 1 + wanted;
  if (wanted == 4 && is_high_surrogate(code) && text.substr(used, 2) == "\\u") {
    const uint32_t low = leading_number(text.substr(used + 2), 16, 4, digits);
    if (digits == 4 && is_low_surrogate(low)) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      used += 6;
    }
  }
  append_utf8(code, out);
  return used;
}

}  // namespace

std::optional<std::string> unescape_python_string(std::string_view text) {
  static constexpr std::string_view kNames = "\\'\"abfnrtv\n";
  static constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const std::string_view escape = text.substr(++i);
    if (const size_t index = kNames.find(escape[0]); index != std::string_view::npos) {
      if (index < kValues.size())
        out += kValues[index];  // a backslash at a line's end joins the lines
    } else if (escape[0] == 'x' || escape[0] == 'u' || escape[0] == 'U') {
      const size_t used = append_hex_escape(escape, out);
      if (used == 0) return std::nullopt;
      i += used - 1;
    } else if (escape[0] >= '0' && escape[0] <= '7') {
      size_t digits = 0;
      append_utf8(leading_number(escape, 8, 3, digits), out);
      i += digits - 1;
    } else {
      out += '\\';
      out += escape[0];
    }
  }
  return out;
}

}  // namespace rill::text::jinja
