// SPDX-License-Identifier: Apache-2.0
// Where a live question begins and ends.
#include "endpointer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rill::cli {
namespace {

constexpr size_t kPiece = 512;

/// Pushes `ms` of sound; returns whether a question ended.
bool push(Endpointer& endpointer, size_t ms, bool speaking, int16_t value = 1) {
  const std::vector<int16_t> piece(kPiece, value);
  for (size_t samples = 0; samples < ms * 16; samples += kPiece) {
    if (endpointer.push(piece, speaking)) return true;
  }
  return false;
}

TEST(Endpointer, APauseEndsAQuestionThatBeginsALittleBeforeTheSpeech) {
  Endpointer endpointer;
  EXPECT_FALSE(push(endpointer, 5000, false));
  EXPECT_TRUE(endpointer.take().empty());
  EXPECT_FALSE(push(endpointer, 5000, false, 2));
  EXPECT_FALSE(push(endpointer, 1000, true, 3));
  EXPECT_FALSE(push(endpointer, 400, false, 4));  // a short pause
  EXPECT_FALSE(push(endpointer, 500, true, 5));
  EXPECT_TRUE(push(endpointer, 5000, false, 6));
  const std::vector<int16_t> question = endpointer.take();
  ASSERT_FALSE(question.empty());
  EXPECT_EQ(question.front(), 2);
  const auto before = std::count(question.begin(), question.end(), int16_t{2});
  EXPECT_NEAR(static_cast<double>(before) / 16, 450, 33);
  const auto after = std::count(question.begin(), question.end(), int16_t{6});
  EXPECT_NEAR(static_cast<double>(after) / 16, 200, 33);
  EXPECT_TRUE(endpointer.take().empty());  // starts over
}

TEST(Endpointer, AQuestionIsNotEndless) {
  Endpointer endpointer({.max_question_s = 2});
  EXPECT_FALSE(push(endpointer, 1000, true));
  EXPECT_TRUE(push(endpointer, 2000, true));
}

TEST(Endpointer, WhatWasBegunCanBeTaken) {
  Endpointer endpointer;
  EXPECT_FALSE(push(endpointer, 300, true));
  EXPECT_FALSE(endpointer.take().empty());
}

}  // namespace
}  // namespace rill::cli
