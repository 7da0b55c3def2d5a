// SPDX-License-Identifier: Apache-2.0
#include "ops/rope.h"

#include <gtest/gtest.h>

#include <string>

#include "support/test_data.h"
#include "unit/ops/ops_support.h"

namespace rill::test {
namespace {

constexpr size_t kHeadDim = 64;
constexpr size_t kPositions = 11;

/// The reference's tables and rotated vectors for one base.
class RopeReference : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] std::vector<float> of_base(const std::string& name) const {
    return vectors_.floats("theta" + std::to_string(GetParam()) + "." + name);
  }
  /// Row i: the table of the reference's position i.
  [[nodiscard]] TestMat tables() const {
    const std::vector<float> inv_freq = ops::rope_inv_freq(kHeadDim, GetParam());
    const std::vector<int64_t> positions = vectors_.ints("positions");
    TestMat all(kPositions, kHeadDim);
    for (size_t i = 0; i < kPositions; ++i) {
      ops::rope_table(inv_freq, static_cast<size_t>(positions[i]), all.mat().row_range(i, 1));
    }
    return all;
  }

  const Vectors vectors_{data_path("ops/ops.safetensors")};
};

TEST_P(RopeReference, InverseFrequenciesAreEqual) {
  const std::vector<float> inv_freq = ops::rope_inv_freq(kHeadDim, GetParam());
  const std::vector<float> want = of_base("inv_freq");
  ASSERT_EQ(inv_freq.size(), want.size());
  for (size_t j = 0; j < kHeadDim / 2; ++j) {
    // Their power is within an ulp of the exact one.
    EXPECT_NEAR(inv_freq[j], want[j], 1.2e-7f * inv_freq[j]) << j;
  }
}

TEST_P(RopeReference, TablesAreClose) {
  const TestMat table = tables();
  const std::vector<float> cosines = of_base("cos");
  const std::vector<float> sines = of_base("sin");
  const std::vector<float> want_freq = of_base("inv_freq");
  const std::vector<float> inv_freq = ops::rope_inv_freq(kHeadDim, GetParam());
  for (size_t j = 0; j < kHeadDim / 2; ++j) {
    // An ulp of inv_freq moves the angle of position 127999 by up to 0.01.
    const float tolerance = inv_freq[j] == want_freq[j] ? 1.2e-7f : 0.02f;
    for (size_t i = 0; i < kPositions; ++i) {
      EXPECT_NEAR(table.at(i, j), cosines[i * kHeadDim + j], tolerance) << i << ' ' << j;
      EXPECT_NEAR(table.at(i, kHeadDim / 2 + j), sines[i * kHeadDim + j], tolerance)
          << i << ' ' << j;
    }
  }
}

TEST_P(RopeReference, RotatedVectorsAreClose) {
  // With the reference's own table, so that only the rotation is compared.
  TestMat table(kPositions, kHeadDim);
  const std::vector<float> cosines = of_base("cos");
  const std::vector<float> sines = of_base("sin");
  for (size_t i = 0; i < kPositions; ++i) {
    std::copy_n(cosines.data() + i * kHeadDim, kHeadDim / 2, &table.at(i, 0));
    std::copy_n(sines.data() + i * kHeadDim, kHeadDim / 2, &table.at(i, kHeadDim / 2));
  }
  OpsContext context;
  for (const size_t heads : {2, 1}) {
    const std::string name = heads == 2 ? "q" : "k";
    TestMat x(kPositions, heads * kHeadDim);
    x.values() = vectors_.floats(name);
    const std::vector<float> want = of_base(name);
    ops::rope(context, ops::RopeLayout::kHalf, table, heads, x);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(x.data()[i], want[i], 1e-6f) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Bases, RopeReference, testing::Values(1000000, 5000000, 10000000));

TEST(RopeTable, GivesAPositionTheSameRowInAnyCut) {
  const std::vector<float> inv_freq = ops::rope_inv_freq(40, 1e6);
  TestMat whole(30, 40), parts(30, 40);
  ops::rope_table(inv_freq, 1000, whole);
  ops::rope_table(inv_freq, 1000, parts.mat().row_range(0, 13));
  ops::rope_table(inv_freq, 1013, parts.mat().row_range(13, 17));
  EXPECT_TRUE(whole == parts);
}

TEST(Rope, RotatesNeighboursInThePairLayout) {
  const TestMat half_input = TestMat::random(5, 3 * 32, 1);
  TestMat pair_input(5, 96);
  for (size_t r = 0; r < 5; ++r) {
    for (size_t head = 0; head < 3; ++head) {
      for (size_t j = 0; j < 16; ++j) {
        pair_input.at(r, head * 32 + 2 * j) = half_input.at(r, head * 32 + j);
        pair_input.at(r, head * 32 + 2 * j + 1) = half_input.at(r, head * 32 + 16 + j);
      }
    }
  }
  TestMat table(5, 32);
  ops::rope_table(ops::rope_inv_freq(32, 1e4), 3, table);
  OpsContext context;
  TestMat half = half_input, pair = pair_input;
  ops::rope(context, ops::RopeLayout::kHalf, table, 3, half);
  ops::rope(context, ops::RopeLayout::kPair, table, 3, pair);
  EXPECT_NE(half.at(4, 5), half_input.at(4, 5));
  for (size_t j = 0; j < 16; ++j) {
    EXPECT_EQ(pair.at(4, 64 + 2 * j), half.at(4, 64 + j));
    EXPECT_EQ(pair.at(4, 64 + 2 * j + 1), half.at(4, 64 + 16 + j));
  }
}

TEST(Rope, GivesTheSameBitsOnAnyThreads) {
  const TestMat x = TestMat::random(100, 16 * 64, 2);
  TestMat table(100, 64);
  ops::rope_table(ops::rope_inv_freq(64, 1e6), 7, table);
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat out = x;
    ops::rope(context, ops::RopeLayout::kHalf, table, 16, out);
    return out;
  });
}

}  // namespace
}  // namespace rill::test
