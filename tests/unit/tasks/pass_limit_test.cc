// SPDX-License-Identifier: Apache-2.0
#include "tasks/pass_limit.h"

#include <gtest/gtest.h>

namespace rill::tasks {
namespace {

TEST(CheckPassLimit, AllowsExactlyTheLimit) {
  EXPECT_TRUE(check_pass_limit(120 * 16000, 120.0, "the audio", "cut it"));
  EXPECT_FALSE(check_pass_limit(120 * 16000 + 1, 120.0, "the audio", "cut it"));
}

TEST(CheckPassLimit, RoundsLengthsUpToTenths) {
  const Status status = check_pass_limit(120 * 16000 + 1, 120.0, "the audio", "cut it");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kContextFull);
  EXPECT_EQ(status.error().message,
            "LFM2-Audio encodes at most 120.0 s of audio in one pass "
            "(lfm2_audio.max_pass_duration_sec), and the audio is "
            "120.1 s; cut it");
}

TEST(SamplesOfSeconds, RoundsToTheNearestSample) {
  EXPECT_EQ(samples_of_seconds(1.0), 16000u);
  EXPECT_EQ(samples_of_seconds(1.00004), 16001u);
}

}  // namespace
}  // namespace rill::tasks
