// SPDX-License-Identifier: Apache-2.0
// Elementary functions in double precision that give the same bits on every machine and compiler
// (libm does not). For constants and tables (windows, filterbanks, rope angles, twiddles) and for
// the log-mel front end; the F32 functions of the inner loops are in kernels/. Error: about 1 ulp
// of double, so a result rounded to float is the correctly rounded one but for rare ties.
#pragma once

#include <cstddef>

namespace rill::det {

double sin(double x);  ///< |x| <= 1e9
double cos(double x);  ///< |x| <= 1e9
/// Both at once, for half the price.
struct SinCos {
  double sin;
  double cos;
};
SinCos sin_cos(double x);  ///< |x| <= 1e9
double exp(double x);
double log(double x);                      ///< x > 0
double pow(double base, double exponent);  ///< base > 0
double floor(double x);
/// Complex numbers (re, im), exp(log_magnitude[i]) * (cos, sin)(phase[i]), at out[2i] and
/// out[2i + 1], with the bits of exp and sin_cos. |phase| <= 1e9.
void polar(const float* log_magnitude, const float* phase, size_t count, double* out);

inline constexpr double kPi = 3.14159265358979323846;

}  // namespace rill::det
