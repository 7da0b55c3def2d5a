// SPDX-License-Identifier: Apache-2.0
// The functions of base/det_math.h that are also built for processors with FMA instructions,
// without which each fused multiply-add is a call. Every file that includes this has them for
// itself, and takes no inline function from elsewhere: the linker could give it to code for all
// processors. Only operations that IEEE 754 defines exactly are used: + - * / and fma. The files
// are built without contraction, so that every build gives the same bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/det_math.h"

namespace rill::det {
namespace {

double floor_of(double x) {
  if (!(x > -9.0e15 && x < 9.0e15)) return x;  // already whole (or not a number)
  const double truncated = static_cast<double>(static_cast<int64_t>(x));
  return truncated > x ? truncated - 1.0 : truncated;
}

// pi/2 as a sum of three doubles; the first two have trailing zeros, so k * part is exact for |k| <
// 2^31.
constexpr double kPio2High = 1.57079632673412561417e+00;
constexpr double kPio2Mid = 6.07710050630396597660e-11;
constexpr double kPio2Low = 2.02226624879595063154e-21;

double horner(const double* coefficients, int count, double x) {
  double sum = coefficients[0];
  for (int i = 1; i < count; ++i) sum = __builtin_fma(sum, x, coefficients[i]);
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
  return high + __builtin_fma(high * x2, poly, low);
}

double cos_reduced(double high, double low) {
  const double x2 = high * high;
  const double half = 0.5 * x2;
  const double head = 1.0 - half;
  const double tail = (1.0 - head) - half;
  const double rest = __builtin_fma(x2 * x2, horner(kCos, 7, x2), tail - high * low);
  return head + rest;
}

struct Reduced {
  double high;
  double low;
  int quadrant;
};

Reduced reduce(double x) {
  const double k = floor_of(__builtin_fma(x, 2.0 / kPi, 0.5));
  const double a = __builtin_fma(-k, kPio2High, x);
  const double t = k * kPio2Mid;
  const double high0 = a - t;
  const double error = (a - high0) - t;
  const double low0 = __builtin_fma(-k, kPio2Low, error + __builtin_fma(-k, kPio2Mid, t));
  const double high = high0 + low0;
  return {high, low0 - (high - high0), static_cast<int>(static_cast<int64_t>(k) & 3)};
}

double scale_by_power_of_two(double x, int exponent) {
  // In two steps, so that results in the denormal range round once.
  const int half = exponent / 2;
  auto power = [](int e) {
    const uint64_t bits = static_cast<uint64_t>(e + 1023) << 52;
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  };
  return x * power(half) * power(exponent - half);
}

double exp_parts(double x, double x_low) {
  if (x > 709.782712893384) return __builtin_inf();
  if (x < -745.2) return 0.0;
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const double k = floor_of(__builtin_fma(x, 1.4426950408889634, 0.5));
  const double high = __builtin_fma(-k, kLn2High, x);
  const double low = __builtin_fma(-k, kLn2Low, x_low);
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
  for (double c : factorial_inverse) poly = __builtin_fma(poly, r, c);
  const double tail = __builtin_fma(r * r, poly, r_low);
  const double sum = 1.0 + (r + tail);
  return scale_by_power_of_two(sum, static_cast<int>(k));
}

SinCos sin_cos_of(double x) {
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

/// base/det_math.h, polar().
void polar_of(const float* log_magnitude, const float* phase, size_t count, double* out) {
  for (size_t i = 0; i < count; ++i) {
    const double magnitude = exp_parts(static_cast<double>(log_magnitude[i]), 0.0);
    const SinCos turn = sin_cos_of(static_cast<double>(phase[i]));
    out[2 * i] = magnitude * turn.cos;
    out[2 * i + 1] = magnitude * turn.sin;
  }
}

}  // namespace
}  // namespace rill::det
