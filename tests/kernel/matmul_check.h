// SPDX-License-Identifier: Apache-2.0
// Compares the rows of the matmul and quantize_activations families with scalar, without a test
// framework, so that the same checks run under GoogleTest and in a stand-alone program for other
// processors (cross_check_main.cc).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/str_cat.h"
#include "kernels/kernel_table.h"
#include "quant/packed_matrix.h"
#include "quant/quantize.h"

namespace rill::kernels {

/// A function of the matmul family, with the type of its weights.
struct MatmulFunction {
  std::string_view name;
  DType type;
  void (*KernelTable::*member)(const MatmulArgs&);
};
inline constexpr MatmulFunction kMatmulFunctions[] = {
    {"matmul_f32", DType::kF32, &KernelTable::matmul_f32},
    {"matmul_f16", DType::kF16, &KernelTable::matmul_f16},
    {"matmul_bf16", DType::kBF16, &KernelTable::matmul_bf16},
    {"matmul_q8_0", DType::kQ8_0, &KernelTable::matmul_q8_0},
    {"matmul_q4_0", DType::kQ4_0, &KernelTable::matmul_q4_0},
    {"matmul_q4_1", DType::kQ4_1, &KernelTable::matmul_q4_1},
    {"matmul_q5_0", DType::kQ5_0, &KernelTable::matmul_q5_0},
    {"matmul_q5_1", DType::kQ5_1, &KernelTable::matmul_q5_1},
    {"matmul_q4_k", DType::kQ4_K, &KernelTable::matmul_q4_k},
    {"matmul_q5_k", DType::kQ5_K, &KernelTable::matmul_q5_k},
    {"matmul_q6_k", DType::kQ6_K, &KernelTable::matmul_q6_k},
};

/// What the numbers of a case look like.
enum class Numbers {
  kNormal,    ///< normally distributed weights and activations
  kDenormal,  ///< so small that scales, products or halves are denormal
  kExtreme,   ///< weights are random bytes: NaN, infinities and huge scales among them; activations
              ///< of all sizes
};

/// Equal bits, or both NaN (which NaN is not defined).
inline bool same_value(float a, float b) {
  return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b));
}

/// Rows of stored weights.
inline std::vector<std::byte> make_weights(DType type, size_t rows, size_t cols, Numbers numbers,
                                           std::mt19937& random) {
  std::vector<std::byte> bytes(rows * row_bytes(type, cols));
  if (numbers == Numbers::kExtreme) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 0xff);
    return bytes;
  }
  const float scale = numbers == Numbers::kDenormal ? 1e-6f : 0.05f;
  std::normal_distribution<float> normal(0.1f * scale, scale);
  std::vector<float> row(cols);
  for (size_t r = 0; r < rows; ++r) {
    for (float& v : row) v = normal(random);
    quant::quantize_row(type, row, bytes.data() + r * row_bytes(type, cols));
  }
  return bytes;
}

/// Activations; every fifth block of 32 is zero, so that zero scales are met. Of extreme ones the
/// second row holds an infinity.
inline std::vector<float> make_activations(size_t rows, size_t cols, Numbers numbers,
                                           std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<float> x(rows * cols);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    if (i / 32 % 5 == 4) x[i] = 0;
    if (numbers == Numbers::kDenormal) x[i] = x[i] * 1e-37f;
    if (numbers == Numbers::kExtreme)
      x[i] = std::ldexp(x[i], static_cast<int>(i / 32 % 7) * 20 - 60);
  }
  if (numbers == Numbers::kExtreme && rows > 1)
    x[cols + cols / 2] = std::numeric_limits<float>::infinity();
  return x;
}

/// `values` behind one more: their address is aligned to 4 bytes only.
inline std::vector<float> shifted(const std::vector<float>& values) {
  std::vector<float> out(1, 0.0f);
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

/// One product: sizes, inputs as the kernels take them. Every array has its exact size, so that a
/// sanitizer sees any read or write outside; activations and output are aligned to 4 bytes only.
class MatmulCase {
 public:
  MatmulCase(DType type, size_t rows, size_t cols, size_t tokens, Numbers numbers, uint32_t seed)
      : rows_(rows), cols_(cols), tokens_(tokens) {
    std::mt19937 random(seed);
    file_ = make_weights(type, rows, cols, numbers, random);
    x_ = make_activations(tokens, cols, numbers, random);
    shifted_x_ = shifted(x_);
    const auto matrix = quant::PackedMatrix::borrow({file_.data(), type, {rows, cols}});
    RILL_CHECK(matrix.has_value(), "borrow failed");
    panel_bytes_ = matrix->panel_bytes();
    auto panels = AlignedBuffer::create(matrix->num_panels() * panel_bytes_);
    RILL_CHECK(panels.has_value(), "no memory");
    panels_ = std::move(panels).value();
    for (size_t p = 0; p < matrix->num_panels(); ++p)
      matrix->pack_panel(p, panels_.data() + p * panel_bytes_);
    if (is_quantized(type)) {
      const size_t chunks = (cols + 255) / 256;
      chunks_.reset(new ActivationChunk[chunks * tokens]);
      for (size_t t = 0; t < tokens; ++t) {
        kernel_table(IsaTier::kScalar)
            .quantize_activations(x_.data() + t * cols, cols, chunks_.get() + t, tokens);
      }
    }
  }

  [[nodiscard]] std::vector<float> run(void (*kernel)(const MatmulArgs&),
                                       bool prefetch = false) const {
    std::vector<float> out(1 + tokens_ * rows_, -77.0f);
    kernel({reinterpret_cast<const uint8_t*>(panels_.data()), panel_bytes_, rows_, cols_, tokens_,
            shifted_x_.data() + 1, cols_, chunks_.get(), tokens_, out.data() + 1, rows_, prefetch});
    RILL_CHECK(out[0] == -77.0f, "a product wrote in front of its output");
    out.erase(out.begin());
    return out;
  }
  [[nodiscard]] const std::vector<std::byte>& file() const { return file_; }
  [[nodiscard]] const std::vector<float>& x() const { return x_; }
  [[nodiscard]] const ActivationChunk& chunk(size_t index, size_t token) const {
    return chunks_[index * tokens_ + token];
  }

 private:
  size_t rows_;
  size_t cols_;
  size_t tokens_;
  size_t panel_bytes_ = 0;
  std::vector<std::byte> file_;
  std::vector<float> x_;
  std::vector<float> shifted_x_;
  AlignedBuffer panels_;
  std::unique_ptr<ActivationChunk[]> chunks_;
};

/// "" or the first difference of a tier's matmul from scalar on one case, for both ways of reading.
inline std::string check_case(const MatmulFunction& function, IsaTier tier, const MatmulCase& one,
                              size_t rows) {
  const std::vector<float> expected = one.run(kernel_table(IsaTier::kScalar).*function.member);
  for (const bool prefetch : {false, true}) {
    const std::vector<float> got = one.run(kernel_table(tier).*function.member, prefetch);
    for (size_t i = 0; i < got.size(); ++i) {
      if (same_value(got[i], expected[i])) continue;
      return cat(prefetch ? "prefetch, " : "", "token ", i / rows, " row ", i % rows, ": got ",
                 got[i], ", expected ", expected[i]);
    }
  }
  return {};
}

/// "" or the first difference of a tier's matmul from scalar, over sizes and kinds of numbers.
inline std::string check_matmul(const MatmulFunction& function, IsaTier tier) {
  constexpr size_t kCols[] = {32, 64, 96, 256, 288, 512, 2048 + 32, 2048 + 256};
  // 153 and 180 rows: few tokens read several streams of panels, with and without panels left over.
  constexpr size_t kRows[] = {1, 15, 16, 17, 40, 100, 153, 180};
  constexpr size_t kTokens[] = {1, 2, 3, 4, 5, 8, 9, 17, 131};
  uint32_t seed = 1;
  for (const size_t cols : kCols) {
    if (cols % dtype_info(function.type).block_values != 0) continue;
    for (const size_t rows : kRows) {
      for (const size_t tokens : kTokens) {
        // Keeps scalar short: long rows and many tokens with few sizes each.
        if ((cols > 2000 && rows != 17) || (rows == 100 && tokens < 17) ||
            (rows > 100 && (tokens > 9 || cols > 300)) ||
            (tokens > 100 && (rows < 40 || cols > 300))) {
          continue;
        }
        const auto numbers = static_cast<Numbers>(seed % 3);
        const MatmulCase one(function.type, rows, cols, tokens, numbers, seed++);
        const std::string difference = check_case(function, tier, one, rows);
        if (difference.empty()) continue;
        return cat(function.name, " ", isa_tier_name(tier), ": rows ", rows, " cols ", cols,
                   " tokens ", tokens, " numbers ", static_cast<int>(numbers), " seed ", seed - 1,
                   ": ", difference);
      }
    }
  }
  return {};
}

/// "" or the first difference of two chunks' first `blocks` blocks.
inline std::string compare_chunks(const ActivationChunk& got, const ActivationChunk& expected,
                                  size_t blocks) {
  for (size_t b = 0; b < blocks; ++b) {
    if (std::memcmp(got.q + 32 * b, expected.q + 32 * b, 32) != 0)
      return cat("block ", b, ": other quants");
    if (!same_value(got.scale[b], expected.scale[b])) {
      return cat("block ", b, ": scale ", got.scale[b], ", expected ", expected.scale[b]);
    }
    if (std::memcmp(got.half_sums + 2 * b, expected.half_sums + 2 * b, 4) != 0) {
      return cat("block ", b, ": other sums");
    }
  }
  return {};
}

/// "" or the first difference of a tier's quantize_activations from scalar.
inline std::string check_quantize_activations(IsaTier tier) {
  std::mt19937 random(11);
  const float specials[] = {std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::denorm_min(),
                            3.7e-37f,
                            3.8e-37f,
                            -0.0f};
  for (size_t round = 0; round < 60; ++round) {
    for (const size_t cols : {32, 64, 224, 256, 288, 1056}) {
      std::vector<float> x = make_activations(1, cols, static_cast<Numbers>(round % 3), random);
      // Halves between two quants: the largest is 127, so that the factor is one.
      if (round % 4 == 1) {
        for (float& v : x) v = static_cast<float>(static_cast<int>(random() % 509) - 254) * 0.5f;
        x[0] = 127;
      }
      if (round % 4 == 3) x[random() % cols] = specials[random() % std::size(specials)];
      const size_t chunks = (cols + 255) / 256;
      // Neighbours hold a pattern that must survive; a stride of 2 is that of a batch of two rows.
      std::vector<ActivationChunk> expected(2 * chunks), got(2 * chunks);
      std::memset(static_cast<void*>(expected.data()), 0x55,
                  expected.size() * sizeof(ActivationChunk));
      std::memset(static_cast<void*>(got.data()), 0x55, got.size() * sizeof(ActivationChunk));
      kernel_table(IsaTier::kScalar).quantize_activations(x.data(), cols, expected.data(), 2);
      kernel_table(tier).quantize_activations(shifted(x).data() + 1, cols, got.data(), 2);
      for (size_t c = 0; c < expected.size(); ++c) {
        const std::string difference = compare_chunks(got[c], expected[c], 8);
        if (!difference.empty()) {
          return cat("quantize_activations ", isa_tier_name(tier), ": cols ", cols, " round ",
                     round, " chunk ", c, ": ", difference);
        }
      }
    }
  }
  return {};
}

}  // namespace rill::kernels
