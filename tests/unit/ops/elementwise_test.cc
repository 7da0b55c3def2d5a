// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/test_data.h"
#include "unit/ops/ops_support.h"

namespace rill::test {
namespace {

/// Distance of `got` from the exact value, in units of the last place of the exact value rounded to
/// float.
double ulps(float got, long double exact) {
  int exponent = 0;
  std::frexp(static_cast<float>(exact), &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact)) / ulp;
}

/// The largest error of a kernel f(x, size, out) over a dense grid.
template <typename Kernel, typename Exact>
double worst_error(Kernel* kernel, const Exact& exact, float low, float high) {
  constexpr size_t kPoints = 200003;
  std::vector<float> x(kPoints), y(kPoints);
  for (size_t i = 0; i < kPoints; ++i) {
    x[i] = low + (high - low) * (static_cast<float>(i) / static_cast<float>(kPoints - 1));
  }
  kernel(x.data(), kPoints, y.data());
  double worst = 0;
  for (size_t i = 0; i < kPoints; ++i) {
    worst = std::max(worst, ulps(y[i], exact(static_cast<long double>(x[i]))));
  }
  return worst;
}

TEST(Exponential, IsWithinOneUlp) {
  OpsContext context;
  const auto exact = [](long double x) { return std::exp(x); };
  EXPECT_LT(worst_error(context.kernels().exponential, exact, -87.0f, 88.7f), 1.0);
  EXPECT_LT(worst_error(context.kernels().exponential, exact, -1.0f, 1.0f), 1.0);
  EXPECT_LT(worst_error(context.kernels().exponential, exact, -104.0f, -87.0f), 1.0)
      << "denormal results";
}

TEST(Exponential, HandlesTheEnds) {
  OpsContext context;
  const float infinity = std::numeric_limits<float>::infinity();
  const float x[] = {-infinity, infinity, std::numeric_limits<float>::quiet_NaN(), 0.0f, -0.0f,
                     -104.5f,   88.8f};
  float y[7];
  context.kernels().exponential(x, 7, y);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_FALSE(std::signbit(y[0]));
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 1.0f);
  EXPECT_EQ(y[4], 1.0f);
  EXPECT_EQ(y[5], 0.0f);
  EXPECT_EQ(y[6], infinity);
}

TEST(Sigmoid, IsWithinOneUlp) {
  OpsContext context;
  const auto exact = [](long double x) { return 1.0L / (1.0L + std::exp(-x)); };
  EXPECT_LT(worst_error(context.kernels().sigmoid, exact, -87.0f, 87.0f), 1.0);
  EXPECT_LT(worst_error(context.kernels().sigmoid, exact, -8.0f, 8.0f), 1.0);
}

TEST(Silu, IsWithinTwoUlp) {
  OpsContext context;
  const auto exact = [](long double x) { return x / (1.0L + std::exp(-x)); };
  EXPECT_LT(worst_error(context.kernels().silu, exact, -80.0f, 80.0f), 2.0);
  EXPECT_LT(worst_error(context.kernels().silu, exact, -1.0f, 1.0f), 2.0);
}

TEST(Gelu, IsWithinOneUlp) {
  OpsContext context;
  const auto exact = [](long double x) { return 0.5L * x * std::erfc(-x / std::sqrt(2.0L)); };
  EXPECT_LT(worst_error(context.kernels().gelu, exact, -13.0f, 13.0f), 1.0);
  EXPECT_LT(worst_error(context.kernels().gelu, exact, -1.0f, 1.0f), 1.0);
}

TEST(RmsNorm, MatchesReference) {
  const Vectors vectors(data_path("ops/ops.safetensors"));
  const std::vector<float> x = vectors.floats("rmsnorm.x");
  const std::vector<float> weight = vectors.floats("rmsnorm.weight");
  const std::vector<float> want = vectors.floats("rmsnorm.y");
  OpsContext context;
  TestMat out(6, 64);
  ops::rms_norm(context, {x.data(), 6, 64, 64}, weight.data(), 1e-5f, out);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(out.data()[i], want[i], 1e-6f * std::fabs(want[i])) << i;
}

TEST(RmsNorm, NormalisesEachHeadAlone) {
  const TestMat x = TestMat::random(3, 4 * 40, 1, 7);
  const TestMat weight = TestMat::random(1, 40, 2);
  OpsContext context;
  TestMat out(3, 160);
  ops::rms_norm_heads(context, x, 4, weight.data(), 1e-6f, out);
  for (size_t r = 0; r < 3; ++r) {
    for (size_t head = 0; head < 4; ++head) {
      TestMat alone(1, 40);
      ops::rms_norm(context, x.mat().row_range(r, 1).col_range(head * 40, 40), weight.data(), 1e-6f,
                    alone);
      EXPECT_EQ(std::memcmp(alone.data(), &out.at(r, head * 40), 40 * sizeof(float)), 0);
    }
  }
}

TEST(RmsNorm, WorksInPlace) {
  TestMat x = TestMat::random(4, 33, 3);
  const TestMat weight = TestMat::random(1, 33, 4);
  OpsContext context;
  TestMat want(4, 33);
  ops::rms_norm(context, x, weight.data(), 1e-5f, want);
  ops::rms_norm(context, x, weight.data(), 1e-5f, x);
  EXPECT_TRUE(x == want);
}

TEST(LayerNorm, MatchesDoublePrecision) {
  const TestMat x = TestMat::random(5, 521, 5, 3);
  const TestMat weight = TestMat::random(1, 521, 6);
  const TestMat bias = TestMat::random(1, 521, 7);
  OpsContext context;
  TestMat out(5, 521);
  ops::layer_norm(context, x, weight.data(), bias.data(), 1e-5f, out);
  for (size_t r = 0; r < 5; ++r) {
    double sum = 0, squares = 0;
    for (size_t c = 0; c < 521; ++c) sum += static_cast<double>(x.at(r, c));
    const double mean = sum / 521;
    for (size_t c = 0; c < 521; ++c) squares += std::pow(static_cast<double>(x.at(r, c)) - mean, 2);
    const double scale = 1 / std::sqrt(squares / 521 + 1e-5);
    for (size_t c = 0; c < 521; ++c) {
      const double want =
          (static_cast<double>(x.at(r, c)) - mean) * scale * static_cast<double>(weight.at(0, c)) +
          static_cast<double>(bias.at(0, c));
      EXPECT_NEAR(static_cast<double>(out.at(r, c)), want, 2e-6);
    }
  }
}

TEST(AddScaled, AddsProductsRoundedOnce) {
  const TestMat x = TestMat::random(3, 50, 8, 2);
  const TestMat start = TestMat::random(3, 50, 9);
  OpsContext context;
  TestMat sum = start;
  ops::add_scaled(context, x, 1.0f, sum);
  TestMat half = start;
  ops::add_scaled(context, x, 0.3f, half);
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 50; ++c) {
      EXPECT_EQ(sum.at(r, c), start.at(r, c) + x.at(r, c));
      EXPECT_EQ(half.at(r, c), std::fma(0.3f, x.at(r, c), start.at(r, c)));
    }
  }
}

TEST(Glu, MultipliesByTheSigmoidOfTheSecondHalf) {
  const TestMat x = TestMat::random(4, 2 * 37, 10);
  OpsContext context;
  TestMat out(4, 37), gate(4, 37);
  ops::glu(context, x, out);
  ops::sigmoid(context, x.mat().col_range(37, 37), gate);
  for (size_t r = 0; r < 4; ++r) {
    for (size_t c = 0; c < 37; ++c) EXPECT_EQ(out.at(r, c), x.at(r, c) * gate.at(r, c));
  }
}

TEST(SiluMul, MultipliesSiluByUp) {
  const TestMat gate = TestMat::random(2, 9000, 11);
  const TestMat up = TestMat::random(2, 9000, 12);
  OpsContext context;
  TestMat out(2, 9000), activated(2, 9000);
  ops::silu_mul(context, gate, up, out);
  ops::silu(context, gate, activated);
  for (size_t c = 0; c < 9000; ++c) EXPECT_EQ(out.at(1, c), activated.at(1, c) * up.at(1, c));
}

TEST(Relu, KeepsPositiveValuesAndNaN) {
  TestMat x(1, 5);
  x.values() = {-1.0f, -0.0f, 0.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()};
  OpsContext context;
  TestMat out(1, 5);
  ops::relu(context, x, out);
  EXPECT_EQ(out.at(0, 0), 0.0f);
  EXPECT_FALSE(std::signbit(out.at(0, 1)));
  EXPECT_EQ(out.at(0, 3), 2.0f);
  EXPECT_TRUE(std::isnan(out.at(0, 4)));
}

TEST(Argmax, TakesTheFirstOfEqualMaxima) {
  const float values[] = {-3.0f, 5.0f, 1.0f, 5.0f};
  EXPECT_EQ(ops::argmax(values), 1U);
  EXPECT_EQ(ops::argmax(std::span(values).first(1)), 0U);
  // Wherever it lies among the vectors and behind them.
  std::vector<float> many(53, -7.0f);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = -6.0f;
    many.back() = -6.0f;
    EXPECT_EQ(ops::argmax(many), i);
    many[i] = many.back() = -7.0f;
  }
}

TEST(AllFinite, FindsOneBadValueInAnyRow) {
  OpsContext context(2);
  TestMat x = TestMat::random(70, 1000, 13, 5);
  EXPECT_TRUE(ops::all_finite(context, x));
  x.at(69, 999) = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(ops::all_finite(context, x));
  // What lies between the rows is not looked at.
  x.at(69, 999) = 0.0f;
  x.values()[1002] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(ops::all_finite(context, x));
}

TEST(Elementwise, TakesNoRowsAndNoColumns) {
  OpsContext context(2);
  TestMat none(0, 16), flat(3, 0);
  ops::silu(context, none, none);
  ops::silu_mul(context, flat, flat, flat);
  ops::rms_norm(context, none, nullptr, 1e-5f, none);
  EXPECT_TRUE(ops::all_finite(context, none));
}

TEST(Elementwise, GivesTheSameBitsOnAnyThreads) {
  const TestMat x = TestMat::random(70, 1100, 14);
  const TestMat wide = TestMat::random(1, 100000, 15);
  const TestMat weight = TestMat::random(2, 1100, 16);
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat out(70, 1100);
    ops::layer_norm(context, x, weight.data(), weight.data() + 1100, 1e-5f, out);
    ops::rms_norm_heads(context, out, 11, weight.data(), 1e-5f, out);
    ops::add_scaled(context, x, 0.5f, out);
    ops::gelu(context, out, out);
    return out;
  });
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat out(1, 100000);
    ops::silu_mul(context, wide, wide, out);
    return out;
  });
}

}  // namespace
}  // namespace rill::test
