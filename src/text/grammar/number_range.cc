// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/number_range.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace rill::text::grammar {
namespace {

constexpr int64_t kLargest = 999999999999999999;  // kMaxWholeDigits nines
constexpr size_t kMaxBoundDigits = 40;            // of a bound's fraction

bool is_zero(std::string_view digits) {
  return digits.find_first_not_of('0') == std::string_view::npos;
}

/// Expressions over digit strings.
class Digits {
 public:
  explicit Digits(Grammar& grammar) : grammar_(grammar) {}

  /// Whole numbers of [low, high], low <= high, written without leading zeros.
  ExprId whole(int64_t low, int64_t high) {
    const std::string from = std::to_string(low);
    const std::string to = std::to_string(high);
    std::vector<ExprId> options;
    for (size_t size = from.size(); size <= to.size(); ++size) {
      const std::string least = size == from.size() ? from : "1" + std::string(size - 1, '0');
      const std::string most = size == to.size() ? to : std::string(size, '9');
      options.push_back(between(least, most, 0));
    }
    return grammar_.choice(options);
  }

  // Fractions with their point, compared with .digits; "" counts as .0.
  ExprId any_fraction() { return grammar_.optional(point_and(some())); }
  ExprId fraction_at_least(std::string_view digits, bool is_exclusive) {
    if (!is_zero(digits)) return point_and(at_least(digits, 0, is_exclusive));
    return is_exclusive ? point_and(nonzero()) : any_fraction();
  }
  ExprId fraction_at_most(std::string_view digits, bool is_exclusive) {
    if (is_zero(digits))
      return is_exclusive ? grammar_.nothing() : grammar_.optional(grammar_.literal(".0"));
    return grammar_.optional(point_and(
        grammar_.choice({grammar_.sequence({digit(digits[0]), at_most(digits, 1, is_exclusive)}),
                         grammar_.sequence({range('0', digits[0] - 1), any()})})));
  }
  ExprId fraction_between(std::string low, bool is_low_exclusive, std::string high,
                          bool is_high_exclusive);

 private:
  ExprId digit(char c) { return grammar_.byte(c); }
  ExprId range(int first, int last) {
    if (first > last) return grammar_.nothing();
    return grammar_.byte_range(static_cast<uint8_t>(first), static_cast<uint8_t>(last));
  }
  ExprId any(size_t min, size_t max) {
    return grammar_.repeat(range('0', '9'), static_cast<uint32_t>(min), static_cast<uint32_t>(max));
  }
  ExprId any() { return any(0, kMaxFractionDigits - 1); }
  ExprId some() { return any(1, kMaxFractionDigits); }
  ExprId zeros() { return grammar_.repeat(digit('0'), 0, kMaxFractionDigits - 1); }
  ExprId nonzero() { return grammar_.sequence({zeros(), range('1', '9'), any()}); }
  ExprId point_and(ExprId digits) { return grammar_.sequence({digit('.'), digits}); }

  /// Digits of the same number as low and high have, from `at` on.
  ExprId between(std::string_view low, std::string_view high, size_t at) {
    const bool is_full =
        is_zero(low.substr(at)) && high.find_first_not_of('9', at) == std::string_view::npos;
    if (is_full) return any(low.size() - at, low.size() - at);
    if (low[at] == high[at]) return grammar_.sequence({digit(low[at]), between(low, high, at + 1)});
    const size_t left = low.size() - at - 1;
    return grammar_.choice(
        {grammar_.sequence({digit(low[at]), between(low, std::string(low.size(), '9'), at + 1)}),
         grammar_.sequence({range(low[at] + 1, high[at] - 1), any(left, left)}),
         grammar_.sequence(
             {digit(high[at]), between(std::string(high.size(), '0'), high, at + 1)})});
  }

  // Further digits of a fraction that is equal so far.
  ExprId at_least(std::string_view digits, size_t at, bool is_exclusive) {
    if (at >= digits.size() || is_zero(digits.substr(at))) return is_exclusive ? nonzero() : any();
    return grammar_.choice(
        {grammar_.sequence({digit(digits[at]), at_least(digits, at + 1, is_exclusive)}),
         grammar_.sequence({range(digits[at] + 1, '9'), any()})});
  }
  ExprId at_most(std::string_view digits, size_t at, bool is_exclusive) {
    if (at >= digits.size() || is_zero(digits.substr(at)))
      return is_exclusive ? grammar_.nothing() : zeros();
    return grammar_.choice(
        {grammar_.empty(),
         grammar_.sequence({digit(digits[at]), at_most(digits, at + 1, is_exclusive)}),
         grammar_.sequence({range('0', digits[at] - 1), any()})});
  }

  Grammar& grammar_;
};

ExprId Digits::fraction_between(std::string low, bool is_low_exclusive, std::string high,
                                bool is_high_exclusive) {
  const size_t size = std::max(low.size(), high.size());
  low.resize(size, '0');
  high.resize(size, '0');
  if (low > high) return grammar_.nothing();
  size_t at = 0;
  while (at < size && low[at] == high[at]) ++at;
  if (at == size) {
    if (is_low_exclusive || is_high_exclusive) return grammar_.nothing();
    return is_zero(low) ? grammar_.optional(grammar_.literal(".0")) : grammar_.literal("." + low);
  }
  const ExprId digits = grammar_.choice(
      {grammar_.sequence({digit(low[at]), at_least(low, at + 1, is_low_exclusive)}),
       grammar_.sequence({range(low[at] + 1, high[at] - 1), any()}),
       grammar_.sequence({digit(high[at]), at_most(high, at + 1, is_high_exclusive)})});
  const ExprId fraction = grammar_.sequence({grammar_.literal("." + low.substr(0, at)), digits});
  if (!is_zero(low) || is_low_exclusive) return fraction;
  if (at == 0) return grammar_.optional(fraction);
  const auto count = static_cast<uint32_t>(at);
  return grammar_.optional(
      grammar_.choice({fraction, point_and(grammar_.repeat(digit('0'), 1, count))}));
}

/// A magnitude with its end: whether the bound itself is out.
struct Magnitude {
  int64_t whole = 0;
  std::string fraction;
  bool is_exclusive = false;
};

Magnitude magnitude_of(const NumberBound& bound) {
  return {std::stoll(bound.whole), bound.fraction, bound.is_exclusive};
}

ExprId magnitudes(Grammar& grammar, const Magnitude& low, const Magnitude& high) {
  Digits digits(grammar);
  const auto of_whole = [&](int64_t whole, ExprId fraction) {
    return grammar.sequence({digits.whole(whole, whole), fraction});
  };
  if (low.whole > high.whole) return grammar.nothing();
  if (low.whole == high.whole) {
    return of_whole(low.whole, digits.fraction_between(low.fraction, low.is_exclusive,
                                                       high.fraction, high.is_exclusive));
  }
  std::vector<ExprId> options{
      of_whole(low.whole, digits.fraction_at_least(low.fraction, low.is_exclusive)),
      of_whole(high.whole, digits.fraction_at_most(high.fraction, high.is_exclusive))};
  if (low.whole + 1 < high.whole) {
    options.push_back(
        grammar.sequence({digits.whole(low.whole + 1, high.whole - 1), digits.any_fraction()}));
  }
  return grammar.choice(options);
}

Error no_number() { return {ErrorCode::kInvalidArgument, "no number lies between the bounds"}; }

/// The least integer that a minimum allows (or, mirrored, minus the largest of a maximum).
int64_t first_integer(const NumberBound& bound, bool is_minimum) {
  const int64_t whole = std::stoll(bound.whole);
  const bool rounds_up = bound.is_negative != is_minimum;
  int64_t value = whole;
  if (bound.fraction.empty() ? bound.is_exclusive : true) {
    const bool moves = bound.fraction.empty() || rounds_up;
    if (moves) value += rounds_up ? 1 : -1;
  }
  return bound.is_negative ? -value : value;
}

}  // namespace

std::optional<NumberBound> number_bound(const Json& number, bool is_exclusive) {
  std::string text = number.dump();
  NumberBound bound;
  bound.is_exclusive = is_exclusive;
  if (text[0] == '-') {
    bound.is_negative = true;
    text.erase(0, 1);
  }
  int64_t exponent = 0;
  const size_t e = text.find_first_of("eE");
  if (e != std::string::npos) {
    exponent = std::stoll(text.substr(e + 1));
    text.resize(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  exponent += static_cast<int64_t>(point);  // now the place of the point
  std::string digits = text.substr(0, point);
  if (point < text.size()) digits += text.substr(point + 1);
  if (exponent < 0) {
    if (-exponent > static_cast<int64_t>(kMaxBoundDigits)) return std::nullopt;
    digits.insert(0, static_cast<size_t>(-exponent), '0');
    exponent = 0;
  }
  // Larger numbers stand for "more than we write"; their digits do not matter.
  const auto place = static_cast<size_t>(std::min<int64_t>(exponent, 400));
  if (digits.size() < place) digits.resize(place, '0');
  bound.whole = digits.substr(0, place);
  bound.whole.erase(0, std::min(bound.whole.find_first_not_of('0'), bound.whole.size()));
  if (bound.whole.empty()) bound.whole = "0";
  bound.fraction = digits.substr(place);
  bound.fraction.erase(bound.fraction.find_last_not_of('0') + 1);
  if (bound.fraction.size() > kMaxBoundDigits) return std::nullopt;
  if (bound.whole == "0" && bound.fraction.empty()) bound.is_negative = false;
  return bound;
}

namespace {

/// Whether a is less than b; equal ones are not.
bool is_less(const NumberBound& a, const NumberBound& b) {
  if (a.is_negative != b.is_negative) return a.is_negative;
  const NumberBound& low = a.is_negative ? b : a;
  const NumberBound& high = a.is_negative ? a : b;
  if (low.whole.size() != high.whole.size()) return low.whole.size() < high.whole.size();
  if (low.whole != high.whole) return low.whole < high.whole;
  return low.fraction < high.fraction;
}

/// Bounds beyond the numbers that we write: absent if they bound nothing, else nothing is left.
Status drop_far_bounds(std::optional<NumberBound>& min, std::optional<NumberBound>& max) {
  const auto is_far = [](const std::optional<NumberBound>& bound) {
    return bound && bound->whole.size() > kMaxWholeDigits;
  };
  if ((is_far(min) && !min->is_negative) || (is_far(max) && max->is_negative)) return no_number();
  if (is_far(min)) min.reset();
  if (is_far(max)) max.reset();
  return {};
}

}  // namespace

NumberBound tighter_bound(const NumberBound& a, const NumberBound& b, bool prefers_larger) {
  if (is_less(a, b)) return prefers_larger ? b : a;
  if (is_less(b, a)) return prefers_larger ? a : b;
  return a.is_exclusive ? a : b;
}

Result<ExprId> integer_range(Grammar& grammar, const std::optional<NumberBound>& min_bound,
                             const std::optional<NumberBound>& max_bound) {
  std::optional<NumberBound> min = min_bound;
  std::optional<NumberBound> max = max_bound;
  RILL_RETURN_IF_ERROR(drop_far_bounds(min, max));
  const int64_t low = min ? std::max(first_integer(*min, true), -kLargest) : -kLargest;
  const int64_t high = max ? std::min(first_integer(*max, false), kLargest) : kLargest;
  if (low > high) return no_number();
  Digits digits(grammar);
  std::vector<ExprId> options;
  if (high >= 0) options.push_back(digits.whole(std::max<int64_t>(low, 0), high));
  if (low < 0) {
    options.push_back(
        grammar.sequence({grammar.byte('-'), digits.whole(std::max<int64_t>(-high, 1), -low)}));
  }
  return grammar.choice(options);
}

Result<ExprId> number_range(Grammar& grammar, const std::optional<NumberBound>& min_bound,
                            const std::optional<NumberBound>& max_bound) {
  std::optional<NumberBound> min = min_bound;
  std::optional<NumberBound> max = max_bound;
  RILL_RETURN_IF_ERROR(drop_far_bounds(min, max));
  const Magnitude zero;
  const Magnitude above_zero{0, "", true};
  const Magnitude largest{kLargest, std::string(1, '9'), false};
  std::vector<ExprId> options;
  if (!max || !max->is_negative) {
    const bool from_zero = !min || min->is_negative;
    options.push_back(magnitudes(grammar, from_zero ? zero : magnitude_of(*min),
                                 max ? magnitude_of(*max) : largest));
  }
  if (!min || min->is_negative) {
    const bool to_zero = !max || !max->is_negative;
    options.push_back(grammar.sequence(
        {grammar.byte('-'), magnitudes(grammar, to_zero ? above_zero : magnitude_of(*max),
                                       min ? magnitude_of(*min) : largest)}));
  }
  return grammar.choice(options);
}

}  // namespace rill::text::grammar
