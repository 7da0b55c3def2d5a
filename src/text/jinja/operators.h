// SPDX-License-Identifier: Apache-2.0
// Operators of expressions, with Python's types and rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace rill::text::jinja {

/// "+", "-", "*", "/", "//", "%". Errors: kInvalidArgument: types that do not go together,
/// overflow, division by zero.
Result<Value> apply_arithmetic(std::string_view op, const Value& a, const Value& b, Budget& budget);

/// "==", "!=", "<", "<=", ">", ">=", "in", "not in".
Result<bool> compare_values(std::string_view op, const Value& a, const Value& b);

/// "-" and "+".
Result<Value> apply_sign(std::string_view op, const Value& operand);

/// object[index]; undefined if there is no such item.
Result<Value> get_item(const Value& object, const Value& index);

/// object[begin:end:step] of lists and strings; parts left out are empty.
Result<Value> get_slice(const Value& object, std::optional<int64_t> begin,
                        std::optional<int64_t> end, std::optional<int64_t> step, Budget& budget);

}  // namespace rill::text::jinja
