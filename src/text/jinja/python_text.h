// SPDX-License-Identifier: Apache-2.0
// The text forms that Python gives values (str, repr, json.dumps), and its string functions, which
// count code points.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace rill::text::jinja {

/// Appends str(value): what {{ value }} prints. Undefined prints nothing.
void append_str(const Value& value, std::string& out);
[[nodiscard]] std::string to_str(const Value& value);
/// Appends repr(value).
void append_repr(const Value& value, std::string& out);

struct JsonStyle {
  size_t indent = 0;  ///< spaces a level; with is_indented
  bool is_indented = false;
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// Appends json.dumps(value). Errors: kInvalidArgument: undefined or another value that JSON cannot
/// express.
Status append_json(const Value& value, const JsonStyle& style, std::string& out);

/// repr() of a float: the shortest digits that read back equal.
[[nodiscard]] std::string float_text(double value);

/// str.isspace() of one character.
[[nodiscard]] bool is_python_space(char32_t c);

// What of a text to strip: nothing named means white space.
enum class StripSide { kBoth, kLeft, kRight };
[[nodiscard]] std::string_view strip(std::string_view text,
                                     const std::optional<std::string>& characters, StripSide side);

/// The characters of well-formed UTF-8, one view each.
[[nodiscard]] std::vector<std::string_view> characters_of(std::string_view text);

/// str.split: by white space runs without a separator; max_splits < 0 means all.
[[nodiscard]] std::vector<std::string_view> split_text(std::string_view text,
                                                       const std::optional<std::string>& separator,
                                                       int64_t max_splits);

/// str.replace; count < 0 means all.
[[nodiscard]] std::string replace_text(std::string_view text, std::string_view from,
                                       std::string_view to, int64_t count);

// Case mapping of ASCII, Latin-1, Greek and Cyrillic letters; other letters stay as they are.
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_upper(std::string_view text);
/// First character in upper case, the rest in lower case.
[[nodiscard]] std::string capitalize(std::string_view text);

}  // namespace rill::text::jinja
