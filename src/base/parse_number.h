// SPDX-License-Identifier: Apache-2.0
// Locale-independent number parsing that takes the whole text or fails. (std::from_chars for
// floating point is missing from one of our compilers' libraries.)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rill {

/// Decimal digits with an optional minus sign; nothing else, no overflow.
[[nodiscard]] std::optional<int64_t> parse_int(std::string_view text);
[[nodiscard]] std::optional<uint64_t> parse_uint(std::string_view text);

/// A finite decimal number as in JSON, also with a leading '+' or '.'; no hex, no "inf", no "nan",
/// no leftovers.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

/// true, false (also 1, 0, on, off, yes, no; ASCII case ignored).
[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);

}  // namespace rill
