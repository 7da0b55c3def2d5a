// SPDX-License-Identifier: Apache-2.0
// Escapes of Python string literals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rill::text::jinja {

/// The value of the text between the quotes; unknown escapes keep their backslash, as in Python.
/// Nothing if a \x, \u or \U lacks digits or names no character. A surrogate pair of \u escapes
/// gives its character, a lone one U+FFFD.
[[nodiscard]] std::optional<std::string> unescape_python_string(std::string_view text);

}  // namespace rill::text::jinja
