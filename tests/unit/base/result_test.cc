// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace rill {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return value / 2;
}

Result<int> quarter(int value) {
  RILL_ASSIGN_OR_RETURN(const int first, half(value));
  RILL_ASSIGN_OR_RETURN(const int second, half(first));
  return second;
}

Status check_even(int value) {
  RILL_RETURN_IF_ERROR(half(value));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = half(4);
  ASSERT_TRUE(good.has_value());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, 2);
  const Result<int> bad = half(3);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(bad.error().message, "odd");
}

TEST(Result, MacrosPassErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(check_even(2).has_value());
  EXPECT_EQ(check_even(1).error().message, "odd");
}

TEST(Result, MovesMoveOnlyValues) {
  Result<std::unique_ptr<int>> first(std::make_unique<int>(5));
  Result<std::unique_ptr<int>> second(std::move(first));
  EXPECT_EQ(**second, 5);
  second = Result<std::unique_ptr<int>>(Error{ErrorCode::kIo, "gone"});
  EXPECT_EQ(second.error().message, "gone");
  second = Result<std::unique_ptr<int>>(std::make_unique<int>(6));
  EXPECT_EQ(**second, 6);
}

TEST(Error, ContextComesFirst) {
  EXPECT_EQ((Error{ErrorCode::kIo, "disk full"}.with_context("save").message), "save: disk full");
}

TEST(ResultDeathTest, ValueOfAnErrorPanics) {
  EXPECT_DEATH(static_cast<void>(half(3).value()), "Result::value\\(\\) on an error");
}

}  // namespace
}  // namespace rill
