// SPDX-License-Identifier: Apache-2.0
#include "tasks/option_values.h"

#include "base/parse_number.h"
#include "base/str_cat.h"

namespace rill::tasks {

Error bad_option_value(std::string_view key, std::string_view value, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("request option ", key, ": got '", printable(value), "', expected ", expected)};
}

Result<size_t> parse_count(std::string_view key, std::string_view value, size_t least) {
  const auto number = parse_uint(value);
  if (!number || *number < least || *number > 1'000'000'000) {
    return bad_option_value(key, value,
                            least == 0 ? "an integer, 0 or more" : "a positive integer");
  }
  return static_cast<size_t>(*number);
}

Result<float> parse_temperature(std::string_view key, std::string_view value) {
  const auto number = parse_double(value);
  if (!number || *number < 0 || *number > 1e6)
    return bad_option_value(key, value, "a number, 0 or more");
  return static_cast<float>(*number);
}

Result<uint64_t> parse_seed(std::string_view key, std::string_view value) {
  const auto number = parse_uint(value);
  if (!number) return bad_option_value(key, value, "an unsigned 64-bit integer");
  return *number;
}

Result<double> parse_seconds(std::string_view key, std::string_view value) {
  const auto number = parse_double(value);
  if (!number || *number < 1.0 || *number > 1e9) {
    return bad_option_value(key, value, "a number of seconds, 1 or more");
  }
  return *number;
}

Result<bool> parse_flag(std::string_view key, std::string_view value) {
  if (value == "true") return true;
  if (value == "false") return false;
  return bad_option_value(key, value, "true or false");
}

}  // namespace rill::tasks
