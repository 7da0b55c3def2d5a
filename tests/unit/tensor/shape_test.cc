// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(Shape, RowsAndColumns) {
  const Shape matrix = {2048, 1024};
  EXPECT_EQ(matrix.rank(), 2U);
  EXPECT_EQ(matrix.rows(), 2048U);
  EXPECT_EQ(matrix.cols(), 1024U);
  const Shape experts = {4, 3, 2};
  EXPECT_EQ(experts.rows(), 12U);
  EXPECT_EQ(experts.cols(), 2U);
  EXPECT_EQ(experts.num_elements(), 24U);
}

TEST(Shape, VectorsAndScalars) {
  const Shape vector = {7};
  EXPECT_EQ(vector.rows(), 1U);
  EXPECT_EQ(vector.cols(), 7U);
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0U);
  EXPECT_EQ(scalar.num_elements(), 1U);
  EXPECT_EQ(scalar.rows(), 1U);
  EXPECT_EQ(scalar.cols(), 1U);
}

TEST(Shape, AZeroDimensionHasNoElements) {
  const Shape empty = {0, 5};
  EXPECT_EQ(empty.num_elements(), 0U);
  EXPECT_EQ(empty.rows(), 0U);
}

TEST(Shape, ComparesAndPrints) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_EQ((Shape{2048, 1024}.to_string()), "[2048, 1024]");
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(ShapeDeathTest, AFifthDimensionPanics) {
  Shape shape = {1, 2, 3, 4};
  EXPECT_DEATH(shape.append(5), "more than four dimensions");
  EXPECT_DEATH(static_cast<void>(shape.dim(4)), "axis out of range");
}

}  // namespace
}  // namespace rill
