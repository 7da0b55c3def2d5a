// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <utility>

namespace rill {
namespace {

TEST(TensorMap, FindsByNameInFileOrder) {
  TensorMap map;
  EXPECT_TRUE(map.add({"b", {}, 0}));
  EXPECT_TRUE(map.add({"a", {}, 4}));
  EXPECT_FALSE(map.add({"b", {}, 8}));
  ASSERT_EQ(map.all().size(), 2U);
  EXPECT_EQ(map.all()[0].name, "b");
  EXPECT_EQ(map.find("a")->file_offset, 4U);
  EXPECT_EQ(map.find("b")->file_offset, 0U);
  EXPECT_EQ(map.find("c"), nullptr);
  EXPECT_EQ(map.find(""), nullptr);
}

TEST(TensorView, SizeCountsBlocks) {
  EXPECT_EQ((TensorView{nullptr, DType::kF32, {3, 5}}.size_bytes()), 60U);
  EXPECT_EQ((TensorView{nullptr, DType::kQ4_0, {3, 64}}.size_bytes()), 108U);
  EXPECT_EQ((TensorView{nullptr, DType::kF16, {}}.size_bytes()), 2U);
  EXPECT_EQ((TensorView{nullptr, DType::kF32, {0, 5}}.size_bytes()), 0U);
}

TEST(Mat, RangesAreViews) {
  Tensor tensor = Tensor::create(4, 6).value();
  for (size_t i = 0; i < 24; ++i) tensor.data()[i] = static_cast<float>(i);
  const Mat all = tensor.mat();
  const ConstMat rows = all.row_range(1, 2);
  EXPECT_EQ(rows.rows, 2U);
  EXPECT_EQ(rows.row(1)[0], 12.0F);
  const ConstMat corner = rows.col_range(4, 2);
  EXPECT_EQ(corner.cols, 2U);
  EXPECT_EQ(corner.stride, 6U);
  EXPECT_EQ(corner.row(0)[1], 11.0F);
  all.row_range(3, 1).col_range(5, 1).row(0)[0] = -1;
  EXPECT_EQ(tensor.data()[23], -1.0F);
}

TEST(Tensor, ImpossibleSizesAreErrors) {
  const size_t huge = static_cast<size_t>(-1) / 2;
  EXPECT_EQ(Tensor::create(huge, 3).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(Tensor::create(huge, 1).error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(Tensor::create(0, 5).has_value());
  EXPECT_TRUE(Tensor::create(5, 0).has_value());
}

}  // namespace
}  // namespace rill
