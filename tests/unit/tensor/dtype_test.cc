// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(DType, BlockSizesAreTheFormatsOwn) {
  struct Expected {
    DType type;
    std::string_view name;
    size_t values;
    size_t bytes;
  };
  const Expected table[] = {
      {DType::kF32, "F32", 1, 4},       {DType::kF16, "F16", 1, 2},
      {DType::kBF16, "BF16", 1, 2},     {DType::kF64, "F64", 1, 8},
      {DType::kI8, "I8", 1, 1},         {DType::kI64, "I64", 1, 8},
      {DType::kQ4_0, "Q4_0", 32, 18},   {DType::kQ8_0, "Q8_0", 32, 34},
      {DType::kQ4_K, "Q4_K", 256, 144}, {DType::kQ5_K, "Q5_K", 256, 176},
      {DType::kQ6_K, "Q6_K", 256, 210},
  };
  for (const Expected& expected : table) {
    const DTypeInfo& info = dtype_info(expected.type);
    EXPECT_EQ(info.name, expected.name);
    EXPECT_EQ(info.block_values, expected.values) << expected.name;
    EXPECT_EQ(info.block_bytes, expected.bytes) << expected.name;
    EXPECT_EQ(is_quantized(expected.type), expected.values > 1) << expected.name;
  }
}

TEST(DType, RowBytesCountsBlocks) {
  EXPECT_EQ(row_bytes(DType::kF32, 10), 40U);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 64), 68U);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 512), 420U);
  EXPECT_EQ(row_bytes(DType::kQ4_0, 0), 0U);
}

TEST(DType, GgufNumbersMapBothWays) {
  for (uint32_t number = 0; number < 64; ++number) {
    const std::optional<DType> type = dtype_from_gguf(number);
    if (!type) continue;
    EXPECT_EQ(static_cast<uint32_t>(*type), number);
    EXPECT_EQ(dtype_name(*type), gguf_type_name(number));
  }
  EXPECT_EQ(dtype_from_gguf(0), DType::kF32);
  EXPECT_EQ(dtype_from_gguf(14), DType::kQ6_K);
  EXPECT_EQ(dtype_from_gguf(30), DType::kBF16);
}

TEST(DType, UnknownNumbersHaveNamesWhereTheFormatHasThem) {
  EXPECT_FALSE(dtype_from_gguf(10));
  EXPECT_EQ(gguf_type_name(10), "Q2_K");
  EXPECT_EQ(gguf_type_name(20), "IQ4_NL");
  EXPECT_EQ(gguf_type_name(39), "MXFP4");
  EXPECT_EQ(gguf_type_name(4), "");
  EXPECT_EQ(gguf_type_name(0xFFFFFFFF), "");
  EXPECT_FALSE(dtype_from_gguf(0xFFFFFFFF));
}

}  // namespace
}  // namespace rill
