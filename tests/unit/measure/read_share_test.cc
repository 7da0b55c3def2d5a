// SPDX-License-Identifier: Apache-2.0
#include "measure/read_share.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"

namespace rill::measure {
namespace {

TEST(ReadShare, SaysWhatPartOfTheBandwidthARateIs) {
  auto pool = ThreadPool::create(1).value();
  ReadBandwidth bandwidth = ReadBandwidth::create(*pool).value();
  const auto result =
      measure_read_shares(bandwidth, 2, []() -> Result<double> { return 1e9; }).value();
  ASSERT_EQ(result.shares.size(), 2u);
  ASSERT_EQ(result.bandwidths.size(), 2u);
  EXPECT_GT(result.bandwidths[0], 1e8);
  // The second turn lies between the two bandwidths.
  EXPECT_NEAR(result.shares[1] * (result.bandwidths[0] + result.bandwidths[1]) / 2, 1e9, 1.0);
}

TEST(ReadShare, ReturnsTheErrorOfWhatIsMeasured) {
  auto pool = ThreadPool::create(1).value();
  ReadBandwidth bandwidth = ReadBandwidth::create(*pool).value();
  const auto result = measure_read_shares(bandwidth, 3, []() -> Result<double> {
    return Error{ErrorCode::kContextFull, "full"};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kContextFull);
}

}  // namespace
}  // namespace rill::measure
