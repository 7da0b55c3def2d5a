// SPDX-License-Identifier: Apache-2.0
// Number parsing. parse_double rounds correctly: a fast exact path for short numbers, big integers
// for the rest.
#include "base/parse_number.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace rill {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A natural number, least significant 32-bit limb first.
class BigNat {
 public:
  explicit BigNat(std::string_view digits) {
    for (char c : digits) multiply_add(10, static_cast<uint32_t>(c - '0'));
  }

  void multiply_add(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t& limb : limbs_) {
      carry += static_cast<uint64_t>(limb) * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(static_cast<uint32_t>(carry));
  }

  void shift_left_limbs(size_t count) { limbs_.insert(limbs_.begin(), count, 0); }

  // Divides and returns whether a remainder was dropped.
  bool divide(uint32_t divisor) {
    uint64_t remainder = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      remainder = (remainder << 32) | limbs_[i];
      limbs_[i] = static_cast<uint32_t>(remainder / divisor);
      remainder %= divisor;
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    return remainder != 0;
  }

  [[nodiscard]] int bits() const {
    int bits = static_cast<int>(limbs_.size()) * 32;
    for (uint32_t top = limbs_.back(); (top & 0x80000000U) == 0; top <<= 1) --bits;
    return bits;
  }

  [[nodiscard]] bool bit(int index) const {
    return ((limbs_[static_cast<size_t>(index) / 32] >> (static_cast<size_t>(index) % 32)) & 1U) !=
           0;
  }

 private:
  std::vector<uint32_t> limbs_;
};

// number * 2^exponent (plus a dropped fraction when `sticky`) to the nearest double, ties to even.
double round_to_double(const BigNat& number, int exponent, bool sticky) {
  const int bits = number.bits();
  const int top = bits - 1 + exponent;  // exponent of the leading bit
  // A normal double keeps 53 bits, a subnormal one only those down to 2^-1074.
  const int keep = std::min(53, top + 1075);
  if (keep < 0) return 0;
  uint64_t mantissa = 0;
  int index = bits - 1;
  for (int i = 0; i < keep; ++i, --index) {
    mantissa = (mantissa << 1) | static_cast<uint64_t>(index >= 0 && number.bit(index));
  }
  if (index >= 0 && number.bit(index)) {
    bool above_half = sticky;
    for (int i = index - 1; i >= 0 && !above_half; --i) above_half = number.bit(i);
    if (above_half || (mantissa & 1) != 0) ++mantissa;
  }
  return std::ldexp(static_cast<double>(mantissa), top + 1 - keep);
}

// digits * 10^exponent, exactly rounded; infinity when it is too large. digits has no leading zero.
double decimal_to_double(std::string_view digits, int exponent) {
  BigNat number(digits);
  if (exponent >= 0) {
    for (int i = 0; i < exponent; ++i) number.multiply_add(10, 0);
    return round_to_double(number, 0, false);
  }
  // digits / 10^n: room for 64 quotient bits, then 5^n by short division; 2^n goes into the
  // exponent.
  constexpr uint32_t kFiveTo13 = 1220703125;
  const int n = -exponent;
  const int limbs = n * 3 / 32 + 3;
  number.shift_left_limbs(static_cast<size_t>(limbs));
  bool sticky = false;
  for (int left = n; left > 0; left -= 13) {
    uint32_t divisor = kFiveTo13;
    for (int i = left; i < 13; ++i) divisor /= 5;
    sticky = number.divide(divisor) || sticky;
  }
  return round_to_double(number, -n - 32 * limbs, sticky);
}

struct Decimal {
  bool negative = false;
  std::string digits;  // significant digits without leading zeros
  int exponent = 0;    // value = digits * 10^exponent
};

// More digits than any double or midpoint between two has (767); the rest only matters as "not
// zero".
constexpr size_t kMaxDigits = 800;
constexpr int kExponentLimit = 100000000;

// Takes the exponent part ("e-12") at text[pos]; false if it is ill-formed.
bool parse_exponent(std::string_view text, size_t pos, int64_t& exponent) {
  ++pos;
  bool negative = false;
  if (pos < text.size() && (text[pos] == '+' || text[pos] == '-')) negative = text[pos++] == '-';
  if (pos == text.size()) return false;
  int64_t value = 0;
  for (; pos < text.size(); ++pos) {
    if (!is_digit(text[pos])) return false;
    value = std::min<int64_t>(value * 10 + (text[pos] - '0'), kExponentLimit);
  }
  exponent += negative ? -value : value;
  return true;
}

std::optional<Decimal> split_decimal(std::string_view text) {
  Decimal out;
  size_t pos = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) out.negative = text[pos++] == '-';
  bool any_digit = false;
  bool after_point = false;
  bool dropped = false;
  int64_t exponent = 0;
  for (; pos < text.size(); ++pos) {
    const char c = text[pos];
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    any_digit = true;
    if (after_point) --exponent;
    if (out.digits.empty() && c == '0') continue;
    if (out.digits.size() < kMaxDigits) {
      out.digits += c;
    } else {
      ++exponent;
      dropped = dropped || c != '0';
    }
  }
  if (!any_digit) return std::nullopt;
  if (pos < text.size()) {
    if (text[pos] != 'e' && text[pos] != 'E') return std::nullopt;
    if (!parse_exponent(text, pos, exponent)) return std::nullopt;
  }
  if (dropped)
    out.digits.back() = static_cast<char>(out.digits.back() | 1);  // an odd tail breaks a false tie
  out.exponent = static_cast<int>(std::clamp<int64_t>(exponent, -kExponentLimit, kExponentLimit));
  return out;
}

// Mantissa and power of ten both exact doubles: one correctly rounded operation gives the answer.
std::optional<double> exact_path(const Decimal& decimal) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (decimal.digits.size() > 15 || decimal.exponent < -22 || decimal.exponent > 22)
    return std::nullopt;
  uint64_t mantissa = 0;
  for (char c : decimal.digits) mantissa = mantissa * 10 + static_cast<uint64_t>(c - '0');
  const auto value = static_cast<double>(mantissa);
  return decimal.exponent < 0 ? value / kPowers[-decimal.exponent]
                              : value * kPowers[decimal.exponent];
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

}  // namespace

std::optional<uint64_t> parse_uint(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

std::optional<int64_t> parse_int(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::optional<uint64_t> magnitude = parse_uint(negative ? text.substr(1) : text);
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (!magnitude || *magnitude > kLimit || (*magnitude == kLimit && !negative)) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::optional<double> parse_double(std::string_view text) {
  const std::optional<Decimal> decimal = split_decimal(text);
  if (!decimal) return std::nullopt;
  double value = 0;
  const int leading = decimal->exponent + static_cast<int>(decimal->digits.size());
  if (!decimal->digits.empty()) {
    if (leading > 310) return std::nullopt;
    if (const std::optional<double> exact = exact_path(*decimal)) {
      value = *exact;
    } else if (leading > -330) {
      value = decimal_to_double(decimal->digits, decimal->exponent);
    }
  }
  if (!std::isfinite(value)) return std::nullopt;
  return decimal->negative ? -value : value;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (std::string_view word : {"true", "1", "on", "yes"}) {
    if (equals_ignoring_case(text, word)) return true;
  }
  for (std::string_view word : {"false", "0", "off", "no"}) {
    if (equals_ignoring_case(text, word)) return false;
  }
  return std::nullopt;
}

}  // namespace rill
