// SPDX-License-Identifier: Apache-2.0
#include "base/det_math.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/cpu_features.h"
#include "base/det_math_functions.h"
#include "base/det_math_polar.h"

namespace rill::det {
namespace {

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

}  // namespace

double floor(double x) { return floor_of(x); }

SinCos sin_cos(double x) { return sin_cos_of(x); }

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

void polar_without_fma(const float* log_magnitude, const float* phase, size_t count, double* out) {
  polar_of(log_magnitude, phase, count, out);
}

void polar(const float* log_magnitude, const float* phase, size_t count, double* out) {
#if defined(__x86_64__)
  static const bool has_fma = cpu_supports(IsaTier::kAvx2);
  if (has_fma) return polar_with_fma(log_magnitude, phase, count, out);
#endif
  polar_without_fma(log_magnitude, phase, count, out);
}

}  // namespace rill::det
