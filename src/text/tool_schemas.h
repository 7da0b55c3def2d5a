// SPDX-License-Identifier: Apache-2.0
// ToolSchemas: the types that a request's tools give their parameters, so that a model that writes
// 5 for a string or '5' for an integer still calls the tool as it meant to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.h"

namespace rill::text {

enum class ParameterType { kUnknown, kString, kInteger, kNumber, kBoolean, kArray, kObject };

class ToolSchemas {
 public:
  ToolSchemas() = default;
  /// Reads a tool list ({"type": "function", "function": {...}} or the function alone); what it
  /// does not understand stays unknown.
  explicit ToolSchemas(const Json& tools);

  [[nodiscard]] ParameterType type(const std::string& tool, const std::string& parameter) const;

 private:
  std::unordered_map<std::string, std::unordered_map<std::string, ParameterType>> types_;
};

/// JSON text of a quoted value for a parameter that wants another type: "5" for an integer gives 5,
/// JSON text for an object gives the object. Nothing if the text is no such value.
[[nodiscard]] std::optional<std::string> coerce_text(std::string_view text, ParameterType type);

/// JSON text of an unquoted value: numbers and constants as Python or JSON write them; anything
/// else, and everything for a parameter that wants a string, is a string.
[[nodiscard]] std::string bare_value_json(std::string_view text, ParameterType type);

/// Appends text with JSON's escapes, without quotes.
void append_json_escaped(std::string_view text, std::string& out);

/// "text" in quotes.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace rill::text
