// SPDX-License-Identifier: Apache-2.0
#include "base/det_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/det_math_polar.h"

namespace rill {
namespace {

// Distance in units of the last place of the double nearest to `want`.
double ulps(double got, long double want) {
  const double nearest = static_cast<double>(want);
  if (got == nearest) return 0;
  const double next = std::nextafter(std::fabs(nearest), std::numeric_limits<double>::infinity());
  const long double unit =
      static_cast<long double>(next) - static_cast<long double>(std::fabs(nearest));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

// The largest error of `got` against `want` over a grid.
template <typename Got, typename Want>
double worst(double begin, double end, int count, const Got& got, const Want& want) {
  double worst_ulps = 0;
  for (int i = 0; i <= count; ++i) {
    // The odd factor keeps grid points off round numbers.
    const double x = begin + (end - begin) * (static_cast<double>(i) / count) * 0.99999713;
    worst_ulps = std::fmax(worst_ulps, ulps(got(x), want(static_cast<long double>(x))));
  }
  return worst_ulps;
}

double got_sin(double x) { return det::sin(x); }
double got_cos(double x) { return det::cos(x); }
long double want_sin(long double x) { return std::sin(x); }
long double want_cos(long double x) { return std::cos(x); }

TEST(DetMath, SinAndCosAreWithinOneUlp) {
  EXPECT_LE(worst(-10, 10, 100000, got_sin, want_sin), 1.0);
  EXPECT_LE(worst(-10, 10, 100000, got_cos, want_cos), 1.0);
}

// Rope angles of a long context reach 1e5 rad.
TEST(DetMath, SinAndCosHoldAtLargeAngles) {
  EXPECT_LE(worst(1000, 1e5, 100000, got_sin, want_sin), 1.0);
  EXPECT_LE(worst(1000, 1e5, 100000, got_cos, want_cos), 1.0);
  EXPECT_LE(worst(-1e5, -1000, 100000, got_sin, want_sin), 1.0);
  EXPECT_LE(worst(1e8, 1e9, 20000, got_sin, want_sin), 2.0);
}

TEST(DetMath, SinAndCosNearMultiplesOfHalfPi) {
  for (int k = -64000; k <= 64000; k += 7) {
    const double x = static_cast<double>(k) * (det::kPi / 2);
    const auto exact = static_cast<long double>(x);
    // Near a zero the value is tiny, so the error is measured against 1e-12 at least (long double's
    // own reduction).
    EXPECT_NEAR(det::sin(x), static_cast<double>(want_sin(exact)),
                1e-16 + 1e-15 * std::fabs(det::sin(x)))
        << k;
    EXPECT_NEAR(det::cos(x), static_cast<double>(want_cos(exact)),
                1e-16 + 1e-15 * std::fabs(det::cos(x)))
        << k;
  }
}

TEST(DetMath, SpecialAngles) {
  EXPECT_EQ(det::sin(0.0), 0.0);
  EXPECT_EQ(det::cos(0.0), 1.0);
  EXPECT_EQ(det::sin(det::kPi / 2), 1.0);
  EXPECT_EQ(det::cos(det::kPi), -1.0);
}

TEST(DetMath, ExpIsWithinOneUlp) {
  const auto want = [](long double x) { return std::exp(x); };
  EXPECT_LE(worst(-1, 1, 100000, det::exp, want), 1.0);
  EXPECT_LE(worst(-700, 700, 100000, det::exp, want), 1.0);
  EXPECT_EQ(det::exp(0.0), 1.0);
}

TEST(DetMath, LogIsWithinOneUlp) {
  const auto want = [](long double x) { return std::log(x); };
  EXPECT_LE(worst(0.5, 2, 100000, det::log, want), 1.0);
  EXPECT_LE(worst(1e-300, 1e-290, 1000, det::log, want), 1.0);
  EXPECT_LE(worst(1e-10, 1e10, 100000, det::log, want), 1.0);
  EXPECT_EQ(det::log(1.0), 0.0);
}

// The use: rope frequencies theta^(-2i/d), which are then rounded to float.
TEST(DetMath, PowIsExactAfterRoundingToFloat) {
  for (double base : {10.0, 1e4, 1e6, 5e5}) {
    for (int i = 0; i < 1000; ++i) {
      const double exponent = -static_cast<double>(i) / 1000;
      const long double want =
          std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
      EXPECT_LE(ulps(det::pow(base, exponent), want), 20.0) << base << " ^ " << exponent;
      EXPECT_EQ(static_cast<float>(det::pow(base, exponent)), static_cast<float>(want))
          << base << " ^ " << exponent;
    }
  }
}

TEST(DetMath, FloorRoundsDown) {
  for (double x : {0.0, 0.5, -0.5, 1.0, -1.0, 2.9999999999999996, -2.0000000000000004, 1e15 + 0.5,
                   -1e15 - 0.5, 1e300}) {
    EXPECT_EQ(det::floor(x), std::floor(x)) << x;
  }
}

// On a processor with FMA both builds run; all values that the ISTFT lets through.
TEST(DetMath, PolarHasTheBitsOfExpAndSinCosInEveryBuild) {
  std::vector<float> log_magnitude;
  std::vector<float> phase;
  for (int i = 0; i < 100000; ++i) {
    const float t = static_cast<float>(i) / 50000.0f - 1.0f;  // -1 to 1
    log_magnitude.push_back(i % 5 == 0 ? 800.0f * t : 60.0f * t);
    phase.push_back(i % 7 == 0 ? 1e9f * t : 10.0f * t);
  }
  const size_t count = phase.size();
  std::vector<double> chosen(2 * count);
  std::vector<double> plain(2 * count);
  det::polar(log_magnitude.data(), phase.data(), count, chosen.data());
  det::polar_without_fma(log_magnitude.data(), phase.data(), count, plain.data());
  EXPECT_EQ(std::memcmp(chosen.data(), plain.data(), 2 * count * sizeof(double)), 0);
  for (size_t i = 0; i < count; ++i) {
    const double magnitude = det::exp(static_cast<double>(log_magnitude[i]));
    const det::SinCos turn = det::sin_cos(static_cast<double>(phase[i]));
    ASSERT_EQ(plain[2 * i], magnitude * turn.cos) << i;
    ASSERT_EQ(plain[2 * i + 1], magnitude * turn.sin) << i;
  }
}

}  // namespace
}  // namespace rill
