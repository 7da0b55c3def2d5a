// SPDX-License-Identifier: Apache-2.0
#include "verify/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rill::verify {
namespace {

std::vector<Row> rows_of(void (*fill)(Report& report)) {
  std::vector<Row> rows;
  Report report("subject", {[](void* user, const Row& row) {
                              static_cast<std::vector<Row>*>(user)->push_back(row);
                            },
                            &rows});
  fill(report);
  return rows;
}

TEST(RelativeRms, IsTheRmsOfTheDifferenceOverThatOfTheReference) {
  const float got[] = {3.0f, 4.5f};
  const float want[] = {3.0f, 4.0f};
  EXPECT_DOUBLE_EQ(relative_rms(got, want), 0.1);
}

TEST(RelativeRms, ZeroReferenceGivesTheRmsOfWhatWasComputed) {
  const float got[] = {0.5f, -0.5f};
  const float want[] = {0.0f, 0.0f};
  EXPECT_DOUBLE_EQ(relative_rms(got, want), 0.5);
}

TEST(RelativeRms, NonFiniteValuesAndOtherSizesAreInfinite) {
  const float nan[] = {std::nanf("")};
  const float one[] = {1.0f};
  EXPECT_TRUE(std::isinf(relative_rms(nan, one)));
  EXPECT_TRUE(std::isinf(relative_rms({}, one)));
}

TEST(Report, AnErrorAboveTheToleranceIsAMiss) {
  const auto rows = rows_of([](Report& report) {
    report.measured("at", 1e-3, 1e-3, "x");
    report.measured("above", 1.01e-3, 1e-3, "x");
    report.measured("nan", std::nan(""), 1e-3, "x");
    EXPECT_EQ(report.misses(), 2u);
  });
  EXPECT_EQ(rows[0].verdict, Verdict::kPass);
  EXPECT_EQ(rows[1].verdict, Verdict::kMiss);
  EXPECT_EQ(rows[2].verdict, Verdict::kMiss);
}

TEST(Report, IdsCountDifferencesAndMissingOnes) {
  const auto rows = rows_of([](Report& report) {
    const int32_t got[] = {1, 2, 3};
    const int32_t want[] = {1, 9};
    report.ids("ids", got, want);
  });
  EXPECT_EQ(rows[0].worst_error, 2.0);
  EXPECT_EQ(rows[0].note, "got [1, 2, 3], expected [1, 9]");
}

TEST(Report, NotBuiltIsNoMiss) {
  const auto rows = rows_of([](Report& report) {
    report.not_built("a", "why");
    EXPECT_EQ(report.misses(), 0u);
  });
  EXPECT_EQ(verdict_name(rows[0].verdict), "not built");
}

}  // namespace
}  // namespace rill::verify
