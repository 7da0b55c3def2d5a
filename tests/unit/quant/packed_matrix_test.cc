// SPDX-License-Identifier: Apache-2.0
#include "quant/packed_matrix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "quant/quantize.h"

namespace rill::quant {
namespace {

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                            DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

// Stored rows of random bytes; halves that would be NaN or infinite are avoided by quantizing
// random values.
std::vector<std::byte> random_rows(DType type, size_t rows, size_t cols) {
  std::mt19937 random(static_cast<uint32_t>(rows * 1000 + cols));
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<std::byte> bytes(rows * row_bytes(type, cols));
  std::vector<float> values(cols);
  for (size_t r = 0; r < rows; ++r) {
    for (float& v : values) v = normal(random);
    quantize_row(type, values, bytes.data() + r * row_bytes(type, cols));
  }
  return bytes;
}

size_t smallest_cols(DType type) { return dtype_info(type).block_values; }

std::unique_ptr<ThreadPool> make_pool() {
  auto pool = ThreadPool::create(3);
  EXPECT_TRUE(pool.has_value());
  return std::move(pool).value();
}

class PackedType : public testing::TestWithParam<DType> {};

TEST_P(PackedType, ReadsRowsAsTheFileHasThem) {
  const auto pool = make_pool();
  for (const size_t multiple : {1, 3, 8, 9, 11}) {
    for (const size_t rows : {1, 15, 16, 17, 100}) {
      const size_t cols = smallest_cols(GetParam()) * multiple;
      const std::vector<std::byte> bytes = random_rows(GetParam(), rows, cols);
      const TensorView view = {bytes.data(), GetParam(), {rows, cols}};
      const auto packed = PackedMatrix::pack(view, *pool);
      const auto borrowed = PackedMatrix::borrow(view);
      ASSERT_TRUE(packed.has_value() && borrowed.has_value());
      std::vector<float> expected(cols), a(cols), b(cols);
      for (size_t r = 0; r < rows; ++r) {
        dequantize_row(GetParam(), bytes.data() + r * row_bytes(GetParam(), cols), expected);
        packed->read_row(r, a);
        borrowed->read_row(r, b);
        ASSERT_EQ(std::memcmp(a.data(), expected.data(), cols * 4), 0)
            << "row " << r << " of " << rows;
        ASSERT_EQ(std::memcmp(b.data(), expected.data(), cols * 4), 0)
            << "row " << r << " of " << rows;
      }
    }
  }
}

TEST_P(PackedType, PacksOnTheFlyToTheSameBytes) {
  const auto pool = make_pool();
  const size_t rows = 37, cols = smallest_cols(GetParam()) * 9;
  const std::vector<std::byte> bytes = random_rows(GetParam(), rows, cols);
  const TensorView view = {bytes.data(), GetParam(), {rows, cols}};
  const auto packed = PackedMatrix::pack(view, *pool);
  const auto borrowed = PackedMatrix::borrow(view);
  ASSERT_TRUE(packed.has_value() && borrowed.has_value());
  ASSERT_EQ(packed->panel_bytes(), borrowed->panel_bytes());
  EXPECT_EQ(borrowed->owned_bytes(), 0u);
  for (size_t p = 0; p < packed->num_panels(); ++p) {
    std::vector<std::byte> panel(packed->panel_bytes(), std::byte{0xee});
    borrowed->pack_panel(p, panel.data());
    EXPECT_EQ(std::memcmp(panel.data(), packed->panel(p), panel.size()), 0) << "panel " << p;
  }
}

TEST_P(PackedType, StaysCloseToTheSizeOfTheFile) {
  const auto pool = make_pool();
  const size_t rows = 32, cols = 2048;
  const std::vector<std::byte> bytes = random_rows(GetParam(), rows, cols);
  const auto packed = PackedMatrix::pack({bytes.data(), GetParam(), {rows, cols}}, *pool);
  ASSERT_TRUE(packed.has_value());
  EXPECT_LE(static_cast<double>(packed->owned_bytes()), 1.03 * static_cast<double>(bytes.size()));
}

TEST_P(PackedType, MatricesShareASlab) {
  const auto pool = make_pool();
  const size_t cols = smallest_cols(GetParam()) * 2;
  const size_t bytes_of_one = 20 * row_bytes(GetParam(), cols);
  const std::vector<std::byte> bytes = random_rows(GetParam(), 3 * 20, cols);
  std::vector<PackedMatrix> experts;
  {
    WeightSlabs slabs;  // the matrices outlive it
    for (size_t e = 0; e < 3; ++e) {
      auto expert = PackedMatrix::pack({bytes.data() + e * bytes_of_one, GetParam(), {20, cols}},
                                       *pool, &slabs);
      ASSERT_TRUE(expert.has_value());
      EXPECT_EQ(expert->owned_bytes(), expert->size_bytes());
      experts.push_back(std::move(expert).value());
    }
  }
  experts.erase(experts.begin());
  std::vector<float> expected(cols), got(cols);
  for (size_t r = 0; r < 40; ++r) {
    dequantize_row(GetParam(), bytes.data() + (20 + r) * row_bytes(GetParam(), cols), expected);
    experts[r / 20].read_row(r % 20, got);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), cols * 4), 0);
  }
}

TEST(WeightSlabs, PiecesAreAlignedAndApart) {
  WeightSlabs slabs;
  std::vector<std::pair<std::byte*, size_t>> pieces;
  std::vector<std::shared_ptr<AlignedBuffer>> kept;
  for (const size_t size : {size_t{1}, size_t{100}, size_t{700'000}, size_t{700'000},
                            size_t{3} << 20, size_t{20} << 20, size_t{64}}) {
    const auto piece = slabs.take(size);
    ASSERT_TRUE(piece.has_value());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece->data) % AlignedBuffer::kAlignment, 0u);
    ASSERT_GE(piece->data, piece->slab->data());
    ASSERT_LE(piece->data + size, piece->slab->data() + piece->slab->size_bytes());
    for (const auto& [data, bytes] : pieces)
      EXPECT_TRUE(data + bytes <= piece->data || piece->data + size <= data);
    pieces.emplace_back(piece->data, size);
    kept.push_back(piece->slab);
  }
  EXPECT_EQ(kept[0], kept[1]);
}

INSTANTIATE_TEST_SUITE_P(Pack, PackedType, testing::ValuesIn(kTypes), [](const auto& param_info) {
  return std::string(dtype_name(param_info.param));
});

TEST(PackedMatrix, RefusesTypesWithoutPanels) {
  const auto pool = make_pool();
  const std::vector<std::byte> bytes(64);
  const auto packed = PackedMatrix::pack({bytes.data(), DType::kI32, {4, 4}}, *pool);
  ASSERT_FALSE(packed.has_value());
  EXPECT_EQ(packed.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(packed.error().message,
            "pack weights: got type I32, expected a floating or quantized type of weights");
}

}  // namespace
}  // namespace rill::quant
