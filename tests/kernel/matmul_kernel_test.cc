// SPDX-License-Identifier: Apache-2.0
// The matrix products: every row equals scalar bit for bit, and scalar equals an independent
// row-major implementation of docs/numerics.md, rules 3 to 5, on the file's own blocks.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel/matmul_check.h"
#include "quant/k_quants.h"

namespace rill::kernels {
namespace {

struct Row {
  MatmulFunction function;
  IsaTier tier;
};

std::vector<Row> matmul_rows() {
  std::vector<Row> rows;
  for (const KernelRow& row : kernel_rows()) {
    for (const MatmulFunction& function : kMatmulFunctions) {
      if (function.name == row.function && row.tier != IsaTier::kScalar)
        rows.push_back({function, row.tier});
    }
  }
  return rows;
}

class MatmulRow : public testing::TestWithParam<Row> {};

TEST_P(MatmulRow, EqualsScalarBitForBit) {
  if (!cpu_supports(GetParam().tier))
    GTEST_SKIP() << "this processor lacks " << isa_tier_name(GetParam().tier);
  EXPECT_EQ(check_matmul(GetParam().function, GetParam().tier), "");
}

INSTANTIATE_TEST_SUITE_P(All, MatmulRow, testing::ValuesIn(matmul_rows()), [](const auto& row) {
  return cat(row.param.function.name, "_", isa_tier_name(row.param.tier));
});

TEST(MatmulRows, AllHaveACheck) {
  size_t rows = 0;
  for (const KernelRow& row : kernel_rows())
    rows += row.function.starts_with("matmul_") && row.tier != IsaTier::kScalar ? 1 : 0;
  EXPECT_EQ(matmul_rows().size(), rows);
}

class QuantizeActivationsRow : public testing::TestWithParam<IsaTier> {};

TEST_P(QuantizeActivationsRow, EqualsScalarBitForBit) {
  if (!cpu_supports(GetParam()))
    GTEST_SKIP() << "this processor lacks " << isa_tier_name(GetParam());
  EXPECT_EQ(check_quantize_activations(GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(All, QuantizeActivationsRow,
                         testing::Values(IsaTier::kAvx2, IsaTier::kAvx512, IsaTier::kAvx512Vnni,
                                         IsaTier::kNeon),
                         [](const auto& tier) { return std::string(isa_tier_name(tier.param)); });

// A check that finds nothing proves nothing: a wrong kernel must be noticed.
TEST(CheckMatmul, NoticesAWrongLastBit) {
  const MatmulCase one(DType::kQ8_0, 17, 64, 3, Numbers::kNormal, 5);
  const std::vector<float> right = one.run(kernel_table(IsaTier::kScalar).matmul_q8_0);
  const std::vector<float> wrong = one.run([](const MatmulArgs& args) {
    kernel_table(IsaTier::kScalar).matmul_q8_0(args);
    args.out[args.out_stride + 16] = std::nextafter(args.out[args.out_stride + 16], 1e9f);
  });
  EXPECT_TRUE(same_value(right[0], wrong[0]));
  EXPECT_FALSE(same_value(right[17 + 16], wrong[17 + 16]));
}

// ---- The definition, row by row on the file's blocks ----

struct NaiveBlock {
  int q[32] = {};
  float scale = 0;
  float minimum = 0;
  bool has_minimum = false;
  int half_scale[2] = {1, 1};
};

template <typename Block>
Block block_at(const std::byte* row, size_t index) {
  Block block;
  std::memcpy(&block, row + index * sizeof(Block), sizeof(Block));
  return block;
}

int nibble_of(const uint8_t* q, size_t i) { return i < 16 ? q[i] & 15 : q[i - 16] >> 4; }
int fifth_bit(const uint8_t* high, size_t i) { return (high[i / 8] >> (i % 8) & 1) << 4; }

template <typename Block>
NaiveBlock read_super(const std::byte* row, size_t index) {
  const auto super = block_at<Block>(row, index / 8);
  const size_t j = index % 8;
  const quant::SuperScales scales = quant::unpack_scales(super.scales);
  NaiveBlock out;
  for (size_t i = 0; i < 32; ++i) {
    out.q[i] = super.q[j / 2 * 32 + i] >> (j % 2 * 4) & 15;
    if constexpr (sizeof(Block) == sizeof(quant::BlockQ5_K))
      out.q[i] |= (super.high[i] >> j & 1) << 4;
  }
  out.scale = quant::half_to_float(super.d) * scales.scale[j];
  out.minimum = quant::half_to_float(super.dmin) * scales.minimum[j];
  out.has_minimum = true;
  return out;
}

NaiveBlock read_q6(const std::byte* row, size_t index) {
  const auto super = block_at<quant::BlockQ6_K>(row, index / 8);
  const size_t first = index % 8 * 32;
  NaiveBlock out;
  for (size_t i = 0; i < 32; ++i) out.q[i] = quant::q6_k_quant(super, first + i) - 32;
  out.scale = quant::half_to_float(super.d);
  for (size_t h = 0; h < 2; ++h) out.half_scale[h] = super.scales[first / 16 + h];
  return out;
}

// The simple types, which differ in where quants come from and what is taken off.
template <typename Block>
NaiveBlock read_simple(const std::byte* row, size_t index, int zero_point) {
  const auto block = block_at<Block>(row, index);
  NaiveBlock out;
  for (size_t i = 0; i < 32; ++i) {
    if constexpr (sizeof(block.q) == 32) {
      out.q[i] = block.q[i];
    } else {
      out.q[i] = nibble_of(block.q, i) - zero_point;
    }
    if constexpr (requires { block.high; }) out.q[i] += fifth_bit(block.high, i);
  }
  out.scale = quant::half_to_float(block.d);
  if constexpr (requires { block.m; }) {
    out.minimum = -quant::half_to_float(block.m);
    out.has_minimum = true;
  }
  return out;
}

NaiveBlock read_block(DType type, const std::byte* row, size_t index) {
  switch (type) {
    case DType::kQ8_0:
      return read_simple<quant::BlockQ8_0>(row, index, 0);
    case DType::kQ4_0:
      return read_simple<quant::BlockQ4_0>(row, index, 8);
    case DType::kQ4_1:
      return read_simple<quant::BlockQ4_1>(row, index, 0);
    case DType::kQ5_0:
      return read_simple<quant::BlockQ5_0>(row, index, 16);
    case DType::kQ5_1:
      return read_simple<quant::BlockQ5_1>(row, index, 0);
    case DType::kQ4_K:
      return read_super<quant::BlockQ4_K>(row, index);
    case DType::kQ5_K:
      return read_super<quant::BlockQ5_K>(row, index);
    default:
      return read_q6(row, index);
  }
}

// Rule 3 for 32 values.
struct NaiveActivations {
  int q[32] = {};
  float s = 0;
};
NaiveActivations naive_quantize(const float* x) {
  float m = 0;
  for (size_t i = 0; i < 32; ++i) m = std::max(m, std::fabs(x[i]));
  NaiveActivations out;
  if (m == 0) return out;
  out.s = m / 127;
  for (size_t i = 0; i < 32; ++i) out.q[i] = static_cast<int>(std::nearbyint(x[i] * (127 / m)));
  return out;
}

float naive_quantized(DType type, const std::byte* row, const float* x, size_t cols) {
  float acc = 0;
  for (size_t chunk = 0; chunk < cols; chunk += 256) {
    float c = 0;
    for (size_t k = chunk; k < std::min(cols, chunk + 256); k += 32) {
      const NaiveBlock w = read_block(type, row, k / 32);
      const NaiveActivations a = naive_quantize(x + k);
      int products[2] = {0, 0};
      int sum = 0;
      for (size_t i = 0; i < 32; ++i) {
        products[i / 16] += w.q[i] * a.q[i];
        sum += a.q[i];
      }
      const int product = w.half_scale[0] * products[0] + w.half_scale[1] * products[1];
      c = std::fma(static_cast<float>(product), w.scale * a.s, c);
      if (w.has_minimum) c = std::fma(static_cast<float>(sum), -(w.minimum * a.s), c);
    }
    acc = acc + c;
  }
  return acc;
}

float naive_plain(DType type, const std::byte* row, const float* x, size_t cols) {
  std::vector<float> w(cols);
  quant::dequantize_row(type, row, w);
  float acc = 0;
  for (size_t chunk = 0; chunk < cols; chunk += 256) {
    float c = 0;
    for (size_t k = chunk; k < std::min(cols, chunk + 256); ++k) c = std::fma(w[k], x[k], c);
    acc = acc + c;
  }
  return acc;
}

class ScalarMatmul : public testing::TestWithParam<MatmulFunction> {};

TEST_P(ScalarMatmul, FollowsTheWrittenOrder) {
  const DType type = GetParam().type;
  const size_t rows = 21, tokens = 3;
  for (const size_t cols : {size_t{32}, size_t{288}, size_t{256}, size_t{768}}) {
    if (cols % dtype_info(type).block_values != 0) continue;
    const MatmulCase one(type, rows, cols, tokens, Numbers::kNormal, 3);
    const std::vector<float> got = one.run(kernel_table(IsaTier::kScalar).*GetParam().member);
    for (size_t i = 0; i < got.size(); ++i) {
      const std::byte* row = one.file().data() + i % rows * row_bytes(type, cols);
      const float* x = one.x().data() + i / rows * cols;
      const float expected = is_quantized(type) ? naive_quantized(type, row, x, cols)
                                                : naive_plain(type, row, x, cols);
      ASSERT_TRUE(same_value(got[i], expected))
          << "cols " << cols << " value " << i << ": " << got[i] << " vs " << expected;
    }
  }
}

// Quantized products come close to the product of the dequantized weights.
TEST_P(ScalarMatmul, ApproximatesTheDequantizedProduct) {
  const DType type = GetParam().type;
  const size_t rows = 40, cols = 512;
  const MatmulCase one(type, rows, cols, 1, Numbers::kNormal, 9);
  const std::vector<float> got = one.run(kernel_table(IsaTier::kScalar).*GetParam().member);
  double error = 0, power = 0;
  for (size_t n = 0; n < rows; ++n) {
    const float expected =
        naive_plain(type, one.file().data() + n * row_bytes(type, cols), one.x().data(), cols);
    error += std::pow(double{got[n]} - double{expected}, 2);
    power += std::pow(double{expected}, 2);
  }
  EXPECT_LT(std::sqrt(error / power), is_quantized(type) ? 0.02 : 1e-7);
}

INSTANTIATE_TEST_SUITE_P(All, ScalarMatmul, testing::ValuesIn(kMatmulFunctions),
                         [](const auto& function) { return std::string(function.param.name); });

// ---- Activations that are not ordinary numbers ----

ActivationChunk quantize_32(const std::vector<float>& x) {
  ActivationChunk chunk = {};
  kernel_table(IsaTier::kScalar).quantize_activations(x.data(), 32, &chunk, 1);
  return chunk;
}

TEST(QuantizeActivations, RoundsHalvesToEven) {
  std::vector<float> x(32, 0.0f);
  x[0] = 127, x[1] = 0.5f, x[2] = 1.5f, x[3] = -2.5f, x[4] = -3.5f, x[31] = -127;
  const ActivationChunk chunk = quantize_32(x);
  EXPECT_EQ(chunk.scale[0], 1.0f);
  EXPECT_EQ(chunk.q[1], 0);
  EXPECT_EQ(chunk.q[2], 2);
  EXPECT_EQ(chunk.q[3], -2);
  EXPECT_EQ(chunk.q[4], -4);
  EXPECT_EQ(chunk.half_sums[0], 127 + 0 + 2 - 2 - 4);
  EXPECT_EQ(chunk.half_sums[1], -127);
}

TEST(QuantizeActivations, MakesAnInfiniteOrNanBlockNan) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> x(32, 1.0f);
    x[17] = bad;
    const ActivationChunk chunk = quantize_32(x);
    EXPECT_TRUE(std::isnan(chunk.scale[0]));
    EXPECT_EQ(chunk.q[0], 0);
    EXPECT_EQ(chunk.half_sums[0], 0);
  }
}

TEST(QuantizeActivations, TakesABlockWhoseFactorOverflowsAsZero) {
  const ActivationChunk chunk = quantize_32(std::vector<float>(32, 1e-38f));
  EXPECT_EQ(chunk.scale[0], 0.0f);
  EXPECT_EQ(chunk.q[5], 0);
  const ActivationChunk least = quantize_32(std::vector<float>(32, 4e-37f));
  EXPECT_GT(least.scale[0], 0.0f);
  EXPECT_EQ(least.q[5], 127);
}

}  // namespace
}  // namespace rill::kernels
