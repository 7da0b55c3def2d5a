// SPDX-License-Identifier: Apache-2.0
// Parsing the values of request options; every error names the option, the value and what is
// expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace rill::tasks {

Error bad_option_value(std::string_view key, std::string_view value, std::string_view expected);

/// A whole number from `least` to 1e9 (far from overflow, and longer than any context).
Result<size_t> parse_count(std::string_view key, std::string_view value, size_t least);
/// A finite number, 0 or more.
Result<float> parse_temperature(std::string_view key, std::string_view value);
/// An unsigned 64-bit number.
Result<uint64_t> parse_seed(std::string_view key, std::string_view value);
/// A number of seconds, 1 or more.
Result<double> parse_seconds(std::string_view key, std::string_view value);
/// true or false.
Result<bool> parse_flag(std::string_view key, std::string_view value);

}  // namespace rill::tasks
