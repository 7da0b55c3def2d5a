// SPDX-License-Identifier: Apache-2.0
#include "text/tool_schemas.h"

#include <algorithm>

#include "base/parse_number.h"

namespace rill::text {
namespace {

ParameterType type_named(std::string_view name) {
  if (name == "string") return ParameterType::kString;
  if (name == "integer") return ParameterType::kInteger;
  if (name == "number") return ParameterType::kNumber;
  if (name == "boolean") return ParameterType::kBoolean;
  if (name == "array") return ParameterType::kArray;
  if (name == "object") return ParameterType::kObject;
  return ParameterType::kUnknown;
}

/// The one type of a schema; a list of several (null aside) is no type.
ParameterType schema_type(const Json& schema) {
  const Json* type = schema.find("type");
  if (type == nullptr) return ParameterType::kUnknown;
  if (type->is_string()) return type_named(type->as_string());
  ParameterType found = ParameterType::kUnknown;
  size_t types = 0;
  if (!type->is_array()) return found;
  for (const Json& item : type->items()) {
    if (!item.is_string() || item.as_string() == "null") continue;
    found = type_named(item.as_string());
    ++types;
  }
  return types == 1 ? found : ParameterType::kUnknown;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_end(std::string_view text, size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

/// JSON text of a decimal number as Python writes it (1_000, .5, 5., +5), or nothing.
std::optional<std::string> decimal_json(std::string_view text) {
  std::string number(text);
  number.erase(std::remove(number.begin(), number.end(), '_'), number.end());
  std::string out;
  size_t at = 0;
  if (!number.empty() && (number[0] == '-' || number[0] == '+'))
    out = number[at++] == '-' ? "-" : "";
  const size_t whole_end = digits_end(number, at);
  const std::string whole = number.substr(at, whole_end - at);
  if (whole.size() > 1 && whole[0] == '0') return std::nullopt;
  at = whole_end;
  std::string fraction;
  const bool has_point = at < number.size() && number[at] == '.';
  if (has_point) {
    const size_t fraction_end = digits_end(number, at + 1);
    fraction = number.substr(at + 1, fraction_end - at - 1);
    at = fraction_end;
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  out += whole.empty() ? "0" : whole;
  if (has_point) out += "." + (fraction.empty() ? "0" : fraction);
  if (at < number.size() && (number[at] == 'e' || number[at] == 'E')) {
    const size_t sign =
        at + 1 < number.size() && (number[at + 1] == '-' || number[at + 1] == '+') ? 1 : 0;
    const size_t exponent_end = digits_end(number, at + 1 + sign);
    if (exponent_end == at + 1 + sign) return std::nullopt;
    out += number.substr(at, exponent_end - at);
    at = exponent_end;
  }
  // A number that no double holds would not read back.
  if (at != number.size() || !parse_double(out)) return std::nullopt;
  return out;
}

std::optional<std::string> hex_json(std::string_view text) {
  if (text.size() < 3 || text.size() > 17 || text[0] != '0' || (text[1] | 0x20) != 'x')
    return std::nullopt;
  uint64_t value = 0;
  for (const char c : text.substr(2)) {
    const char lower = static_cast<char>(c | 0x20);
    const int digit = is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<uint64_t>(digit);
  }
  return std::to_string(value);
}

std::optional<std::string> constant_json(std::string_view text) {
  if (text == "True" || text == "true") return "true";
  if (text == "False" || text == "false") return "false";
  if (text == "None" || text == "null" || text.empty()) return "null";
  return std::nullopt;
}

}  // namespace

ToolSchemas::ToolSchemas(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools.items()) {
    const Json* wrapped = tool.find("function");
    const Json& function = wrapped == nullptr ? tool : *wrapped;
    const Json* name = function.find("name");
    const Json* parameters = function.find("parameters");
    const Json* properties = parameters == nullptr ? nullptr : parameters->find("properties");
    if (name == nullptr || !name->is_string() || properties == nullptr || !properties->is_object())
      continue;
    for (const auto& [parameter, schema] : properties->members()) {
      types_[name->as_string()].emplace(parameter, schema_type(schema));
    }
  }
}

ParameterType ToolSchemas::type(const std::string& tool, const std::string& parameter) const {
  const auto found_tool = types_.find(tool);
  if (found_tool == types_.end()) return ParameterType::kUnknown;
  const auto found = found_tool->second.find(parameter);
  return found == found_tool->second.end() ? ParameterType::kUnknown : found->second;
}

std::optional<std::string> coerce_text(std::string_view text, ParameterType type) {
  switch (type) {
    case ParameterType::kInteger: {
      const std::optional<int64_t> number = parse_int(text);
      if (number) return std::to_string(*number);
      return std::nullopt;
    }
    case ParameterType::kNumber:
      return decimal_json(text);
    case ParameterType::kBoolean: {
      const std::optional<std::string> constant = constant_json(text);
      return constant == "null" ? std::nullopt : constant;
    }
    case ParameterType::kArray:
    case ParameterType::kObject: {
      const Result<Json> parsed = parse_json(text);
      const bool fits =
          parsed && (type == ParameterType::kArray ? parsed->is_array() : parsed->is_object());
      if (fits) return parsed->dump();
      return std::nullopt;
    }
    case ParameterType::kUnknown:
    case ParameterType::kString:
      break;
  }
  return std::nullopt;
}

std::string bare_value_json(std::string_view text, ParameterType type) {
  std::optional<std::string> value = constant_json(text);
  if (type == ParameterType::kString && value != "null") return json_quoted(text);
  if (!value) value = decimal_json(text);
  if (!value) value = hex_json(text);
  return value ? *value : json_quoted(text);
}

void append_json_escaped(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  static constexpr std::string_view kShort = "\"\\\n\r\t\b\f";
  static constexpr std::string_view kLetters = "\"\\nrtbf";
  for (const char c : text) {
    if (const size_t index = kShort.find(c); index != std::string_view::npos) {
      out += '\\';
      out += kLetters[index];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  append_json_escaped(text, out);
  out += '"';
  return out;
}

}  // namespace rill::text
