// SPDX-License-Identifier: Apache-2.0
// str() and repr(); json_text.cc has json.dumps(), strings.cc the string functions.
#include "text/jinja/python_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace rill::text::jinja {
namespace {

void append_hex(char32_t c, size_t digits, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (size_t i = digits; i-- > 0;) out += kHex[(static_cast<uint32_t>(c) >> (4 * i)) & 15];
}

/// One character inside repr()'s quotes.
void append_repr_char(char32_t c, char quote, std::string& out) {
  if (c == static_cast<char32_t>(quote) || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c == '\n' || c == '\r' || c == '\t') {
    out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
  } else if (is_printable(c)) {
    append_utf8(c, out);
  } else {
    const size_t digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
    out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
    append_hex(c, digits, out);
  }
}

void append_repr_string(std::string_view text, std::string& out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text.substr(i));
    append_repr_char(c.code_point, quote, out);
    i += c.bytes;
  }
  out += quote;
}

void append_repr_list(const List& list, std::string& out) {
  out += list.is_tuple ? '(' : '[';
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(list.items[i], out);
  }
  if (list.is_tuple && list.items.size() == 1) out += ',';
  out += list.is_tuple ? ')' : ']';
}

void append_repr_dict(const Dict& dict, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& member : dict.members) {
    if (!first) out += ", ";
    first = false;
    append_repr_string(member.first, out);
    out += ": ";
    append_repr(member.second, out);
  }
  out += '}';
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[48];
  const char* end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string out = std::signbit(value) ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    const int magnitude = std::abs(exponent);
    return out + (exponent < 0 ? "e-" : "e+") + (magnitude < 10 ? "0" : "") +
           std::to_string(magnitude);
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  const auto point = static_cast<size_t>(exponent + 1);
  return out + digits.substr(0, point) + "." + digits.substr(point);
}

void append_repr(const Value& value, std::string& out) {
  using Kind = Value::Kind;
  switch (value.kind()) {
    case Kind::kUndefined:
      out += "Undefined";
      break;
    case Kind::kNone:
      out += "None";
      break;
    case Kind::kBool:
      out += value.as_bool() ? "True" : "False";
      break;
    case Kind::kInt:
      append_piece(value.as_int(), out);
      break;
    case Kind::kBigInt:
      out += value.as_string();
      break;
    case Kind::kFloat:
      out += float_text(value.as_double());
      break;
    case Kind::kString:
      append_repr_string(value.as_string(), out);
      break;
    case Kind::kList:
      append_repr_list(value.as_list(), out);
      break;
    case Kind::kDict:
      append_repr_dict(value.as_dict(), out);
      break;
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kMacro:
    case Kind::kFunction:
      out += cat("<", value.type_name(), ">");
      break;
  }
}

void append_str(const Value& value, std::string& out) {
  if (value.is(Value::Kind::kUndefined)) return;
  if (value.is_string()) {
    out += value.as_string();
  } else {
    append_repr(value, out);
  }
}

std::string to_str(const Value& value) {
  std::string out;
  append_str(value, out);
  return out;
}

}  // namespace rill::text::jinja
