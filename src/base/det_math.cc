// SPDX-License-Identifier: Apache-2.0
#include "base/det_math.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// Only operations that IEEE 754 defines exactly are used: + - * / and std::fma. The file is built
// without contraction.

namespace rill::det {
namespace {

// pi/2 as a sum of three doubles; the first two have trailing zeros, so k * part is exact for |k| <
// 2^31.
constexpr double kPio2High = 1.57079632673412561417e+00;
constexpr double kPio2Mid = 6.07710050630396597660e-11;
constexpr double kPio2Low = 2.02226624879595063154e-21;

double horner(const double* coefficients, int count, double x) {
  double sum = coefficients[0];
  for (int i = 1; i < count; ++i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

// Taylor coefficients, highest power first; |r| <= pi/4 leaves an error below 1e-19.
constexpr double kSin[] = {
    1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
    1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
constexpr double kCos[] = {
    1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
    1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};

// The reduced argument is high + low: the low part matters to the last bit near zeros.
double sin_reduced(double high, double low) {
  const double x2 = high * high;
  const double poly = horner(kSin, 8, x2);
  return high + std::fma(high * x2, poly, low);
}

double cos_reduced(double high, double low) {
  const double x2 = high * high;
  const double half = 0.5 * x2;
  const double head = 1.0 - half;
  const double tail = (1.0 - head) - half;
  const double rest = std::fma(x2 * x2, horner(kCos, 7, x2), tail - high * low);
  return head + rest;
}

struct Reduced {
  double high;
  double low;
  int quadrant;
};

Reduced reduce(double x) {
  const double k = floor(std::fma(x, 2.0 / kPi, 0.5));
  const double a = std::fma(-k, kPio2High, x);
  const double t = k * kPio2Mid;
  const double high0 = a - t;
  const double error = (a - high0) - t;
  const double low0 = std::fma(-k, kPio2Low, error + std::fma(-k, kPio2Mid, t));
  const double high = high0 + low0;
  return {high, low0 - (high - high0), static_cast<int>(static_cast<int64_t>(k) & 3)};
}

double scale_by_power_of_two(double x, int exponent) {
  // In two steps, so that results in the denormal range round once.
  const int half = exponent / 2;
  auto power = [](int e) {
    const uint64_t bits = static_cast<uint64_t>(e + 1023) << 52;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  };
  return x * power(half) * power(exponent - half);
}

struct HighLow {
  double high;
  double low;
};

// log(x) as a sum of two doubles, so that pow keeps its precision.
HighLow log_parts(double x) {
  uint64_t bits;
  int exponent = 0;
  if (x < 2.2250738585072014e-308) {  // denormal: normalise first
    x *= 18014398509481984.0;         // 2^54
    exponent = -54;
  }
  std::memcpy(&bits, &x, sizeof bits);
  exponent += static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716; s is carried as high + low.
  const double f = m - 1.0;
  const double d = m + 1.0;
  const double d_low = (m - (d - 1.0));
  const double s = f / d;
  const double s_low = (std::fma(-s, d, f) - s * d_low) / d;
  const double s2 = s * s;
  double poly = 0.0;
  for (int k = 23; k >= 3; k -= 2) poly = std::fma(poly, s2, 1.0 / k);
  const double series = 2.0 * s * s2 * poly;
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const double e = static_cast<double>(exponent);
  const double big = e * kLn2High;
  const double two_s = 2.0 * s;
  const double high = big + two_s;
  const double carry = big == 0.0 ? 0.0 : (big - high) + two_s;
  const double low = carry + (std::fma(e, kLn2Low, series) + 2.0 * s_low);
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

double exp_parts(double x, double x_low) {
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0.0;
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const double k = floor(std::fma(x, 1.4426950408889634, 0.5));
  const double high = std::fma(-k, kLn2High, x);
  const double low = std::fma(-k, kLn2Low, x_low);
  const double r = high + low;
  const double r_low = low - (r - high);
  double poly = 1.0 / 6227020800.0;  // 1/13!
  double factorial_inverse[] = {1.0 / 479001600.0,
                                1.0 / 39916800.0,
                                1.0 / 3628800.0,
                                1.0 / 362880.0,
                                1.0 / 40320.0,
                                1.0 / 5040.0,
                                1.0 / 720.0,
                                1.0 / 120.0,
                                1.0 / 24.0,
                                1.0 / 6.0,
                                0.5};
  for (double c : factorial_inverse) poly = std::fma(poly, r, c);
  const double tail = std::fma(r * r, poly, r_low);
  const double sum = 1.0 + (r + tail);
  return scale_by_power_of_two(sum, static_cast<int>(k));
}

}  // namespace

double floor(double x) {
  if (!(x > -9.0e15 && x < 9.0e15)) return x;  // already whole (or not a number)
  const double truncated = static_cast<double>(static_cast<int64_t>(x));
  return truncated > x ? truncated - 1.0 : truncated;
}

SinCos sin_cos(double x) {
  const Reduced r = reduce(x);
  const double sine = sin_reduced(r.high, r.low);
  const double cosine = cos_reduced(r.high, r.low);
  switch (r.quadrant) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

double sin(double x) { return sin_cos(x).sin; }

double cos(double x) { return sin_cos(x).cos; }

double exp(double x) { return exp_parts(x, 0.0); }

double log(double x) {
  if (x == std::numeric_limits<double>::infinity()) return x;
  const HighLow parts = log_parts(x);
  return parts.high + parts.low;
}

double pow(double base, double exponent) {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  const HighLow l = log_parts(base);
  const double high = l.high * exponent;
  const double low = std::fma(l.high, exponent, -high) + l.low * exponent;
  return exp_parts(high, low);
}

}  // namespace rill::det
