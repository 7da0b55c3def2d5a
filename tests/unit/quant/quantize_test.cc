// SPDX-License-Identifier: Apache-2.0
#include "quant/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "quant/blocks.h"
#include "quant/k_quants.h"
#include "unit/quant/quant_vectors.h"

namespace rill::quant {
namespace {

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

class BlockType : public testing::TestWithParam<DType> {};

TEST_P(BlockType, DequantizesReferenceBlocksBitForBit) {
  const std::string name(dtype_name(GetParam()));
  const std::vector<std::byte> bytes = read_vector(name + ".bytes");
  const std::vector<float> expected = read_float_vector(name + ".f32");
  ASSERT_FALSE(expected.empty());
  std::vector<float> got(expected.size());
  dequantize_row(GetParam(), bytes.data(), got);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(same_bits(got[i], expected[i]))
        << "value " << i << ": " << got[i] << " vs " << expected[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Dequantize, BlockType,
                         testing::Values(DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                                         DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ4_K,
                                         DType::kQ5_K, DType::kQ6_K),
                         [](const auto& param_info) {
                           return std::string(dtype_name(param_info.param));
                         });

class ReferenceQuantizer : public testing::TestWithParam<DType> {};

TEST_P(ReferenceQuantizer, GivesTheSameBytes) {
  const std::vector<float> x = read_float_vector("quantize.x");
  const std::vector<std::byte> expected =
      read_vector("quantize." + std::string(dtype_name(GetParam())));
  ASSERT_EQ(expected.size(), row_bytes(GetParam(), x.size()));
  std::vector<std::byte> got(expected.size());
  quantize_row(GetParam(), x, got.data());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << "byte " << i;
}

INSTANTIATE_TEST_SUITE_P(Quantize, ReferenceQuantizer,
                         testing::Values(DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_1,
                                         DType::kQ5_0, DType::kQ5_1),
                         [](const auto& param_info) {
                           return std::string(dtype_name(param_info.param));
                         });

struct ErrorBound {
  DType type;
  double relative_rms;  // of normally distributed weights
};
class Quantizer : public testing::TestWithParam<ErrorBound> {};

TEST_P(Quantizer, KeepsTheErrorBelowItsBound) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.01f, 0.05f);
  std::vector<float> x(4096);
  for (float& v : x) v = normal(random);
  std::vector<std::byte> bytes(row_bytes(GetParam().type, x.size()));
  std::vector<float> back(x.size());
  quantize_row(GetParam().type, x, bytes.data());
  dequantize_row(GetParam().type, bytes.data(), back);
  double error = 0, power = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += std::pow(double{back[i]} - double{x[i]}, 2);
    power += std::pow(double{x[i]}, 2);
  }
  EXPECT_LT(std::sqrt(error / power), GetParam().relative_rms);
}

TEST_P(Quantizer, GivesFiniteValuesForAnyFiniteBlock) {
  for (const float scale : {0.0f, 1e-40f, 1e-2f, 1.0f, 1000.0f}) {
    std::vector<float> x(256, scale);
    for (size_t i = 0; i < 128; ++i) x[i] = i % 3 == 0 ? -scale : 0.0f;
    std::vector<std::byte> bytes(row_bytes(GetParam().type, x.size()));
    std::vector<float> back(x.size());
    quantize_row(GetParam().type, x, bytes.data());
    dequantize_row(GetParam().type, bytes.data(), back);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(back[i], x[i], 0.1f * scale + 1e-7f) << "value " << i << " scale " << scale;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Quantize, Quantizer,
    testing::Values(ErrorBound{DType::kQ8_0, 0.007}, ErrorBound{DType::kQ4_0, 0.11},
                    ErrorBound{DType::kQ4_1, 0.09}, ErrorBound{DType::kQ5_0, 0.055},
                    ErrorBound{DType::kQ5_1, 0.045}, ErrorBound{DType::kQ4_K, 0.074},
                    ErrorBound{DType::kQ5_K, 0.036}, ErrorBound{DType::kQ6_K, 0.018}),
    [](const auto& param_info) { return std::string(dtype_name(param_info.param.type)); });

TEST(HalfToFloat, RoundTripsEveryNumber) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      ASSERT_EQ(float_to_half(value), half) << bits;
    }
  }
}

TEST(FloatToHalf, RoundsToNearestEven) {
  EXPECT_EQ(float_to_half(1.0f), 0x3c00);
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);             // half way, to even
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);  // above half way
  EXPECT_EQ(float_to_half(1.0f + 0x3p-11f), 0x3c02);             // half way, to even
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);
  EXPECT_EQ(float_to_half(0x1.8p-25f), 0x0001);
  EXPECT_EQ(float_to_half(0x1.ffcp-15f),
            0x0400);  // the largest denormal rounds up to the smallest normal
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
}

TEST(FloatToBf16, RoundsToNearestEven) {
  EXPECT_EQ(float_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(PackScales, RoundTripsAllValues) {
  for (uint8_t v = 0; v < 64; ++v) {
    SuperScales scales = {};
    for (size_t j = 0; j < 8; ++j) {
      scales.scale[j] = static_cast<uint8_t>((v + j * 7) % 64);
      scales.minimum[j] = static_cast<uint8_t>((v * 5 + j) % 64);
    }
    uint8_t packed[12] = {};
    pack_scales(scales, packed);
    const SuperScales back = unpack_scales(packed);
    EXPECT_EQ(back.scale, scales.scale);
    EXPECT_EQ(back.minimum, scales.minimum);
  }
}

}  // namespace
}  // namespace rill::quant
