// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "quant/quantize.h"
#include "unit/ops/ops_support.h"

namespace rill::ops {
namespace {

using quant::PackedMatrix;
using test::OpsContext;
using test::TestMat;

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                            DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

// Stored weights, packed and borrowed.
struct Weights {
  Weights(DType type, size_t rows, size_t cols, uint64_t seed) {
    const TestMat values = TestMat::random(rows, cols, seed);
    bytes.resize(rows * row_bytes(type, cols));
    for (size_t r = 0; r < rows; ++r) {
      quant::quantize_row(type, {values.data() + r * cols, cols},
                          bytes.data() + r * row_bytes(type, cols));
    }
    const TensorView view = {bytes.data(), type, {rows, cols}};
    packed = PackedMatrix::pack(view, *ThreadPool::create(1).value()).value();
    borrowed = PackedMatrix::borrow(view).value();
  }
  std::vector<std::byte> bytes;
  PackedMatrix packed;
  PackedMatrix borrowed;
};

class MatmulType : public testing::TestWithParam<DType> {};

TEST_P(MatmulType, GivesTheSameBitsOnAnyNumberOfThreadsAndInAnyLayout) {
  const size_t rows = 200, cols = 512;
  const Weights weights(GetParam(), rows, cols, 1);
  for (const size_t tokens : {1, 3, 4, 5, 18, 140}) {
    const TestMat x = TestMat::random(tokens, cols, 2);
    TestMat expected(tokens, rows);
    OpsContext one(1);
    ASSERT_TRUE(matmul(one, x, weights.packed, nullptr, expected));
    for (const size_t threads : {1, 2, 3, 4, 8}) {
      OpsContext context(threads);
      for (const PackedMatrix* matrix : {&weights.packed, &weights.borrowed}) {
        TestMat out(tokens, rows);
        ASSERT_TRUE(matmul(context, x, *matrix, nullptr, out));
        EXPECT_TRUE(out == expected) << threads << " threads, " << tokens << " tokens";
      }
    }
  }
}

TEST_P(MatmulType, GivesTheSameBitsAloneAndInABatch) {
  const size_t rows = 50, cols = 768, tokens = 33;
  const Weights weights(GetParam(), rows, cols, 3);
  const TestMat x = TestMat::random(tokens, cols, 4);
  OpsContext context(2);
  TestMat together(tokens, rows);
  ASSERT_TRUE(matmul(context, x, weights.packed, nullptr, together));
  for (size_t first = 0, count = 1; first < tokens; first += count, count = count % 7 + 1) {
    const size_t end = std::min(tokens, first + count);
    TestMat part(end - first, rows);
    ASSERT_TRUE(
        matmul(context, x.mat().row_range(first, end - first), weights.packed, nullptr, part));
    EXPECT_EQ(std::memcmp(part.data(), together.data() + first * rows, (end - first) * rows * 4), 0)
        << "tokens " << first << " to " << end;
  }
}

TEST_P(MatmulType, GivesEachRowItsOwnMatrix) {
  const size_t rows = 90, cols = 512;
  const Weights a(GetParam(), rows, cols, 7);
  const Weights b(GetParam(), rows, cols, 8);
  const PackedMatrix* matrices[] = {&b.packed, &a.borrowed, &a.packed};
  const TestMat x = TestMat::random(3, cols, 9);
  TestMat expected(3, rows);
  OpsContext one(1);
  for (size_t r = 0; r < 3; ++r) {
    ASSERT_TRUE(matmul(one, x.mat().row_range(r, 1), *matrices[r], nullptr,
                       expected.mat().row_range(r, 1)));
  }
  for (const size_t threads : {1, 2, 8}) {
    OpsContext context(threads);
    TestMat out(3, rows);
    ASSERT_TRUE(matmul_rows(context, x, matrices, out));
    EXPECT_TRUE(out == expected) << threads << " threads";
  }
}

TEST_P(MatmulType, EqualsTheScalarTier) {
  const size_t rows = 70, cols = 1024, tokens = 6;
  const Weights weights(GetParam(), rows, cols, 5);
  const TestMat x = TestMat::random(tokens, cols, 6);
  TestMat expected(tokens, rows), got(tokens, rows);
  OpsContext scalar(1, IsaTier::kScalar), context(2);
  ASSERT_TRUE(matmul(scalar, x, weights.packed, nullptr, expected));
  ASSERT_TRUE(matmul(context, x, weights.packed, nullptr, got));
  EXPECT_TRUE(got == expected);
}

INSTANTIATE_TEST_SUITE_P(All, MatmulType, testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

TEST(Matmul, AddsTheBiasLast) {
  const Weights weights(DType::kF32, 20, 64, 7);
  const TestMat x = TestMat::random(3, 64, 8);
  const TestMat bias = TestMat::random(1, 20, 9);
  TestMat plain(3, 20), biased(3, 20);
  OpsContext context(2);
  ASSERT_TRUE(matmul(context, x, weights.packed, nullptr, plain));
  ASSERT_TRUE(matmul(context, x, weights.packed, bias.data(), biased));
  for (size_t t = 0; t < 3; ++t) {
    for (size_t n = 0; n < 20; ++n) EXPECT_EQ(biased.at(t, n), plain.at(t, n) + bias.at(0, n));
  }
}

TEST(Matmul, WritesOnlyItsOwnColumnsOfAStridedOutput) {
  const Weights weights(DType::kQ8_0, 21, 96, 10);
  const TestMat x = TestMat::random(9, 96, 11, 5);
  TestMat dense(9, 21), strided(9, 21, 7);
  OpsContext context(3);
  ASSERT_TRUE(matmul(context, x, weights.packed, nullptr, dense));
  ASSERT_TRUE(matmul(context, x, weights.packed, nullptr, strided));
  for (size_t t = 0; t < 9; ++t) {
    EXPECT_EQ(std::memcmp(strided.data() + t * 28, dense.data() + t * 21, 21 * 4), 0);
    for (size_t n = 21; n < 28; ++n) EXPECT_EQ(strided.values()[t * 28 + n], -99.0f);
  }
}

TEST(Matmul, ComputesSeveralTargetsAsIfAlone) {
  const Weights a(DType::kQ4_0, 48, 256, 12), b(DType::kF16, 33, 256, 13),
      c(DType::kQ6_K, 5, 256, 14);
  const TestMat x = TestMat::random(4, 256, 15);
  const TestMat bias = TestMat::random(1, 33, 16);
  TestMat a_alone(4, 48), b_alone(4, 33), c_alone(4, 5), a_out(4, 48), b_out(4, 33), c_out(4, 5);
  OpsContext context(2);
  ASSERT_TRUE(matmul(context, x, a.packed, nullptr, a_alone));
  ASSERT_TRUE(matmul(context, x, b.packed, bias.data(), b_alone));
  ASSERT_TRUE(matmul(context, x, c.packed, nullptr, c_alone));
  ASSERT_TRUE(matmul(context, x,
                     {{&a.packed, nullptr, a_out},
                      {&b.borrowed, bias.data(), b_out},
                      {&c.packed, nullptr, c_out}}));
  EXPECT_TRUE(a_out == a_alone);
  EXPECT_TRUE(b_out == b_alone);
  EXPECT_TRUE(c_out == c_alone);
}

TEST(Matmul, TakesNoRows) {
  const Weights weights(DType::kQ8_0, 16, 32, 17);
  OpsContext context(2);
  TestMat none(0, 32), out(0, 16);
  EXPECT_TRUE(matmul(context, none.mat(), weights.packed, nullptr, out));
}

TEST(Matmul, CarriesNanAndInfinityToTheOutput) {
  const Weights weights(DType::kQ4_K, 16, 256, 18);
  TestMat x = TestMat::random(2, 256, 19);
  x.at(1, 77) = INFINITY;
  TestMat out(2, 16);
  OpsContext context(1);
  ASSERT_TRUE(matmul(context, x, weights.packed, nullptr, out));
  for (size_t n = 0; n < 16; ++n) {
    EXPECT_TRUE(std::isfinite(out.at(0, n)));
    EXPECT_TRUE(std::isnan(out.at(1, n)));
  }
}

}  // namespace
}  // namespace rill::ops
