// SPDX-License-Identifier: Apache-2.0
// The JSON value and its text form; json_parse.cc reads it.
#include "base/json.h"

#include <charconv>
#include <cmath>

#include "base/parse_number.h"
#include "base/str_cat.h"

namespace rill {
namespace {

void dump_string(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// The shortest text that reads back as the same double; JSON has no infinity or NaN, which become
// null.
void dump_double(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  const std::string_view number(text, static_cast<size_t>(end - text));
  out += number;
  // Keeps the value a double when it is read again.
  if (number.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void dump_value(const Json& value, bool spaced, std::string& out) {
  const std::string_view comma = spaced ? ", " : ",";
  const std::string_view colon = spaced ? ": " : ":";
  switch (value.type()) {
    case Json::Type::kNull:
      out += "null";
      break;
    case Json::Type::kBool:
      out += value.as_bool() ? "true" : "false";
      break;
    case Json::Type::kInt:
      append_piece(value.as_int(), out);
      break;
    case Json::Type::kDouble:
      if (!value.big_integer_digits().empty()) {
        out += value.big_integer_digits();
        break;
      }
      dump_double(value.as_double(), out);
      break;
    case Json::Type::kString:
      dump_string(value.as_string(), out);
      break;
    case Json::Type::kArray: {
      out += '[';
      bool first = true;
      for (const Json& item : value.items()) {
        if (!first) out += comma;
        first = false;
        dump_value(item, spaced, out);
      }
      out += ']';
      break;
    }
    case Json::Type::kObject: {
      out += '{';
      bool first = true;
      for (const auto& [key, member] : value.members()) {
        if (!first) out += comma;
        first = false;
        dump_string(key, out);
        out += colon;
        dump_value(member, spaced, out);
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

Json Json::boolean(bool value) { return Json(Value(value)); }

Json Json::integer(int64_t value) { return Json(Value(value)); }

Json Json::number(double value) { return Json(Value(value)); }

Json Json::big_integer(std::string digits) { return Json(Value(BigInteger{std::move(digits)})); }

Json Json::string(std::string value) { return Json(Value(std::move(value))); }

Json Json::array(Array items) { return Json(Value(std::move(items))); }

Json Json::object(Object members) { return Json(Value(std::move(members))); }

bool Json::as_bool() const {
  RILL_CHECK(is_bool(), "Json::as_bool on another type");
  return *std::get_if<bool>(&value_);
}

int64_t Json::as_int() const {
  RILL_CHECK(is_int(), "Json::as_int on another type");
  return *std::get_if<int64_t>(&value_);
}

double Json::as_double() const {
  RILL_CHECK(is_number(), "Json::as_double on another type");
  if (const auto* big = std::get_if<BigInteger>(&value_)) {
    return rill::parse_double(big->digits).value_or(0.0);
  }
  return is_int() ? static_cast<double>(as_int()) : *std::get_if<double>(&value_);
}

std::string_view Json::big_integer_digits() const {
  const auto* big = std::get_if<BigInteger>(&value_);
  return big == nullptr ? std::string_view() : std::string_view(big->digits);
}

const std::string& Json::as_string() const {
  RILL_CHECK(is_string(), "Json::as_string on another type");
  return *std::get_if<std::string>(&value_);
}

const Json::Array& Json::items() const {
  RILL_CHECK(is_array(), "Json::items on another type");
  return *std::get_if<Array>(&value_);
}

const Json::Object& Json::members() const {
  RILL_CHECK(is_object(), "Json::members on another type");
  return *std::get_if<Object>(&value_);
}

Json::Array& Json::items() {
  RILL_CHECK(is_array(), "Json::items on another type");
  return *std::get_if<Array>(&value_);
}

Json::Object& Json::members() {
  RILL_CHECK(is_object(), "Json::members on another type");
  return *std::get_if<Object>(&value_);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Json::set(std::string key, Json value) {
  members().emplace_back(std::move(key), std::move(value));
}

std::string Json::dump(bool spaced) const {
  std::string out;
  dump_value(*this, spaced, out);
  return out;
}

}  // namespace rill
