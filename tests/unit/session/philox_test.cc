// SPDX-License-Identifier: Apache-2.0
#include "session/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace rill::session {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers of the paper's reference code (Random123, kat_vectors, philox4x32 10 rounds).
TEST(Philox, GivesThePublishedValues) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxUniform, StaysInTheUnitIntervalAndDependsOnEveryPartOfTheKey) {
  std::set<double> seen;
  double sum = 0;
  for (uint64_t step = 0; step < 1000; ++step) {
    const double u = philox_uniform(42, 0, step);
    EXPECT_GE(u, 0.0);
    EXPECT_LT(u, 1.0);
    seen.insert(u);
    sum += u;
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
  EXPECT_NE(philox_uniform(1, 2, 3), philox_uniform(2, 2, 3));
  EXPECT_NE(philox_uniform(1, 2, 3), philox_uniform(1, 3, 3));
  EXPECT_EQ(philox_uniform(1, 2, 3), philox_uniform(1, 2, 3));
}

}  // namespace
}  // namespace rill::session
