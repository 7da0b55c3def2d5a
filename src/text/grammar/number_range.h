// SPDX-License-Identifier: Apache-2.0
// Numbers between bounds, as expressions over decimal digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/grammar.h"

namespace rill::text::grammar {

inline constexpr uint32_t kMaxWholeDigits = 18;     ///< any such number is an int64
inline constexpr uint32_t kMaxFractionDigits = 16;  ///< what a double can tell apart

/// A bound in decimal digits.
struct NumberBound {
  bool is_negative = false;
  std::string whole = "0";  ///< no leading zeros
  std::string fraction;     ///< no trailing zeros
  bool is_exclusive = false;
};

/// The exact decimal digits of a JSON number; nothing if they are too many.
std::optional<NumberBound> number_bound(const Json& number, bool is_exclusive);

/// The tighter of two bounds; `prefers_larger`: of two minimums.
NumberBound tighter_bound(const NumberBound& a, const NumberBound& b, bool prefers_larger);

/// Integers between the bounds, without exponent; an absent bound is kMaxWholeDigits nines.
/// Errors: kInvalidArgument (there are none).
Result<ExprId> integer_range(Grammar& grammar, const std::optional<NumberBound>& min,
                             const std::optional<NumberBound>& max);

/// Decimal numbers between the bounds, without exponent. Errors: as integer_range().
Result<ExprId> number_range(Grammar& grammar, const std::optional<NumberBound>& min,
                            const std::optional<NumberBound>& max);

}  // namespace rill::text::grammar
