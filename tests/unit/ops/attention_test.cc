// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/ops/ops_support.h"

namespace rill::test {
namespace {

/// A KV cache of one layer that owns its blocks.
class TestKv {
 public:
  TestKv(DType dtype, size_t num_kv_heads, size_t head_dim, size_t positions) {
    const size_t bytes = row_bytes(dtype, 2 * num_kv_heads * ops::kKvBlockPositions * head_dim);
    const size_t count = (positions + ops::kKvBlockPositions - 1) / ops::kKvBlockPositions;
    for (size_t i = 0; i < count; ++i) {
      // NaN everywhere: a key that was not stored must not take part.
      memory_.emplace_back(bytes, std::byte{0xFF});
    }
    for (auto& block : memory_) blocks_.push_back(block.data());
    view = {dtype, num_kv_heads, head_dim, blocks_};
  }
  TestKv(const TestKv&) = delete;
  TestKv& operator=(const TestKv&) = delete;
  [[nodiscard]] const std::vector<std::vector<std::byte>>& memory() const { return memory_; }

  ops::KvView view;

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::byte*> blocks_;
};

struct AttentionCase {
  size_t heads, kv_heads, head_dim, tokens, window;
  DType dtype;
};

class Attention : public testing::TestWithParam<AttentionCase> {
 protected:
  [[nodiscard]] const AttentionCase& param() const { return GetParam(); }
  /// The whole sequence, fed in pieces of the given sizes.
  TestMat run(ops::Context& context, const std::vector<size_t>& cut) {
    TestKv kv(param().dtype, param().kv_heads, param().head_dim, param().tokens);
    TestMat out(param().tokens, param().heads * param().head_dim);
    size_t first = 0;
    for (const size_t count : cut) {
      ops::store_kv(context, k_.mat().row_range(first, count), v_.mat().row_range(first, count),
                    first, kv.view);
      const ops::AttentionArgs args{param().heads, first, param().window, scale_};
      EXPECT_TRUE(ops::attention(context, q_.mat().row_range(first, count), kv.view, args,
                                 out.mat().row_range(first, count))
                      .has_value());
      first += count;
    }
    EXPECT_EQ(first, param().tokens);
    return out;
  }
  [[nodiscard]] double reference(size_t t, size_t head, size_t c) const;

  const float scale_ = 1.0f / std::sqrt(static_cast<float>(GetParam().head_dim));
  TestMat q_ = TestMat::random(GetParam().tokens, GetParam().heads* GetParam().head_dim, 1, 3);
  const TestMat k_ =
      TestMat::random(GetParam().tokens, GetParam().kv_heads* GetParam().head_dim, 2);
  const TestMat v_ =
      TestMat::random(GetParam().tokens, GetParam().kv_heads* GetParam().head_dim, 3, 1);

  void SetUp() override {
    for (float& value : q_.values()) value *= 8.0f;  // scores that differ
  }
};

/// Output c of a head for the query at t, in double precision.
double Attention::reference(size_t t, size_t head, size_t c) const {
  const size_t d = param().head_dim;
  const size_t g = head / (param().heads / param().kv_heads);
  const size_t first = param().window == 0 || t < param().window ? 0 : t - param().window + 1;
  double largest = -1e300, sum = 0, weighted = 0;
  std::vector<double> scores;
  for (size_t j = first; j <= t; ++j) {
    double dot = 0;
    for (size_t i = 0; i < d; ++i) {
      dot += static_cast<double>(q_.at(t, head * d + i)) * static_cast<double>(k_.at(j, g * d + i));
    }
    scores.push_back(dot * static_cast<double>(scale_));
    largest = std::max(largest, scores.back());
  }
  for (size_t j = first; j <= t; ++j) {
    const double p = std::exp(scores[j - first] - largest);
    sum += p;
    weighted += p * static_cast<double>(v_.at(j, g * d + c));
  }
  return weighted / sum;
}

TEST_P(Attention, IsCloseToDoublePrecision) {
  OpsContext context;
  const TestMat out = run(context, {param().tokens});
  const double tolerance = param().dtype == DType::kF32 ? 2e-6 : 4e-3;
  for (size_t t = 0; t < param().tokens; t += 1 + param().tokens / 13) {
    for (size_t head = 0; head < param().heads; ++head) {
      for (size_t c = 0; c < param().head_dim; c += 3) {
        ASSERT_NEAR(static_cast<double>(out.at(t, head * param().head_dim + c)),
                    reference(t, head, c), tolerance)
            << "t " << t << " head " << head;
      }
    }
  }
}

TEST_P(Attention, GivesTheSameBitsInAnyCut) {
  OpsContext context;
  const size_t tokens = param().tokens;
  const TestMat want = run(context, {tokens});
  EXPECT_TRUE(run(context, std::vector<size_t>(tokens, 1)) == want) << "token by token";
  if (tokens < 3) return;
  EXPECT_TRUE(run(context, {1, tokens - 1}) == want);
  EXPECT_TRUE(run(context, {tokens / 2, 0, tokens - tokens / 2}) == want);
  EXPECT_TRUE(run(context, {tokens - 2, 2}) == want);
}

TEST_P(Attention, GivesTheSameBitsOnAnyThreads) {
  const size_t tokens = param().tokens;
  expect_same_on_all_threads([&](ops::Context& context) { return run(context, {tokens}); });
  // The last tokens one by one: few heads on many threads share the tiles instead.
  std::vector<size_t> cut(std::min<size_t>(tokens - 1, 3), 1);
  cut.insert(cut.begin(), tokens - cut.size());
  expect_same_on_all_threads([&](ops::Context& context) { return run(context, cut); });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
                         testing::Values(AttentionCase{4, 2, 64, 300, 0, DType::kF32},
                                         AttentionCase{8, 2, 64, 270, 0, DType::kF16},
                                         AttentionCase{4, 1, 16, 130, 30, DType::kF16},
                                         AttentionCase{2, 2, 40, 200, 64, DType::kF32},
                                         AttentionCase{3, 3, 4, 65, 0, DType::kF32},
                                         AttentionCase{6, 2, 32, 1, 0, DType::kF16},
                                         AttentionCase{1, 1, 16, 600, 300, DType::kF32}));

// More tiles than one round of decode holds, with few heads, so that threads share the tiles.
TEST(AttentionOverALongContext, GivesTheSameBitsOnAnyThreads) {
  constexpr size_t kPositions = 9000, kRows = 3;
  TestKv kv(DType::kF16, 1, 32, kPositions);
  OpsContext context;
  const TestMat k = TestMat::random(kPositions, 32, 1), v = TestMat::random(kPositions, 32, 2);
  const TestMat q = TestMat::random(kRows, 64, 3);
  ops::store_kv(context, k, v, 0, kv.view);
  for (const size_t window : {0, 5000}) {
    const ops::AttentionArgs args{2, kPositions - kRows, window, 0.7f};
    TestMat want(kRows, 64);
    ASSERT_TRUE(ops::attention(context, q, kv.view, args, want));
    expect_same_on_all_threads([&](ops::Context& many) {
      TestMat out(kRows, 64);
      EXPECT_TRUE(ops::attention(many, q, kv.view, args, out).has_value());
      EXPECT_TRUE(out == want);
      return out;
    });
  }
}

TEST(StoreKv, KeepsOtherPositions) {
  OpsContext context;
  TestKv kv(DType::kF32, 2, 8, 300);
  const TestMat k = TestMat::random(10, 16, 1), v = TestMat::random(10, 16, 2);
  ops::store_kv(context, k, v, 250, kv.view);
  // Position 255 is the last of block 0: key head 1, value head 0. Keys: 16 side by side, elements
  // in the order 0, 4, 2, 6, 1, 5, 3, 7.
  const auto* block0 = reinterpret_cast<const float*>(kv.memory()[0].data());
  const auto* block1 = reinterpret_cast<const float*>(kv.memory()[1].data());
  EXPECT_EQ(block0[(256 + 240) * 8 + 6 * 16 + 15], k.at(5, 8 + 3));
  EXPECT_EQ(block0[(2 * 256 + 255) * 8 + 3], v.at(5, 3));
  EXPECT_EQ(block1[6 * 16], k.at(6, 3));
  EXPECT_TRUE(std::isnan(block0[240 * 8 + 9]));
  EXPECT_TRUE(std::isnan(block1[4]));
  EXPECT_TRUE(std::isnan(block1[(2 * 256 + 4) * 8]));
}

TEST(ReadKv, GivesRowsThatWriteKvTakes) {
  OpsContext context;
  for (const DType type : {DType::kF32, DType::kF16}) {
    TestKv kv(type, 3, 20, 300), copy(type, 3, 20, 300);
    const TestMat k = TestMat::random(30, 60, 1), v = TestMat::random(30, 60, 2);
    ops::store_kv(context, k, v, 240, kv.view);                        // over the end of a block
    std::vector<std::byte> rows(1 + 29 * ops::kv_row_bytes(kv.view));  // rows may lie anywhere
    ops::read_kv(kv.view, 241, 29, rows.data() + 1);
    ops::write_kv(rows.data() + 1, 241, 29, copy.view);
    std::vector<std::byte> again(rows.size());
    ops::read_kv(copy.view, 241, 29, again.data() + 1);
    EXPECT_EQ(again, rows);
    if (type != DType::kF32) continue;
    std::vector<float> values(rows.size() / sizeof(float));
    std::copy(rows.begin() + 1, rows.end(), reinterpret_cast<std::byte*>(values.data()));
    EXPECT_EQ(values[(2 * 29 + 5) * 20 + 7], k.at(6, 2 * 20 + 7));
    EXPECT_EQ(values[((3 + 1) * 29 + 28) * 20 + 19], v.at(29, 20 + 19));
  }
}

TEST(StoreKv, RoundsHalvesToNearestEven) {
  OpsContext context;
  TestKv kv(DType::kF16, 1, 4, 1);
  TestMat k(1, 4), v(1, 4);
  k.values() = {1.0f, 1.00048828125f, 1.00146484375f, 70000.0f};  // two ties, one overflow
  v.values() = {-0.0f, 5.9604645e-8f, 2.9802322e-8f, 65519.0f};
  ops::store_kv(context, k, v, 0, kv.view);
  const auto* halves = reinterpret_cast<const uint16_t*>(kv.memory()[0].data());
  EXPECT_EQ(halves[0 * 16], 0x3C00);
  EXPECT_EQ(halves[2 * 16], 0x3C00);  // elements in the order 0, 2, 1, 3
  EXPECT_EQ(halves[1 * 16], 0x3C02);
  EXPECT_EQ(halves[3 * 16], 0x7C00);
  EXPECT_EQ(halves[256 * 4 + 0], 0x8000);
  EXPECT_EQ(halves[256 * 4 + 1], 0x0001);
  EXPECT_EQ(halves[256 * 4 + 2], 0x0000);
  EXPECT_EQ(halves[256 * 4 + 3], 0x7BFF);
}

struct RelativeCase {
  size_t heads, head_dim, frames;
};

class RelPosAttention : public testing::TestWithParam<RelativeCase> {
 protected:
  const size_t heads_ = GetParam().heads, d_ = GetParam().head_dim, frames_ = GetParam().frames;
  const size_t cols_ = heads_ * d_;
  const TestMat q_ = TestMat::random(frames_, cols_, 1, 2),
                k_ = TestMat::random(frames_, cols_, 2, 1);
  const TestMat v_ = TestMat::random(frames_, cols_, 3),
                p_ = TestMat::random(2 * frames_ - 1, cols_, 4, 5);
  const TestMat biases_ = TestMat::random(2, cols_, 5);
  const ops::RelPosAttentionArgs args_{heads_, 1.5f, biases_.data(), biases_.data() + cols_};
};

TEST_P(RelPosAttention, IsCloseToDoublePrecision) {
  OpsContext context;
  TestMat out(frames_, cols_);
  ASSERT_TRUE(ops::rel_pos_attention(context, q_, k_, v_, p_, args_, out));
  const auto wide = [](float value) { return static_cast<double>(value); };
  for (size_t i = 0; i < frames_; i += 1 + frames_ / 11) {
    for (size_t head = 0; head < heads_; ++head) {
      std::vector<double> scores(frames_, 0.0);
      for (size_t j = 0; j < frames_; ++j) {
        for (size_t c = head * d_; c < (head + 1) * d_; ++c) {
          scores[j] +=
              (wide(q_.at(i, c)) + wide(biases_.at(0, c))) * wide(k_.at(j, c)) +
              (wide(q_.at(i, c)) + wide(biases_.at(1, c))) * wide(p_.at(frames_ - 1 - i + j, c));
        }
      }
      const double largest = *std::max_element(scores.begin(), scores.end());
      for (size_t c = head * d_; c < (head + 1) * d_; c += 5) {
        double sum = 0, weighted = 0;
        for (size_t j = 0; j < frames_; ++j) {
          const double weight = std::exp(1.5 * (scores[j] - largest));
          sum += weight;
          weighted += weight * wide(v_.at(j, c));
        }
        ASSERT_NEAR(wide(out.at(i, c)), weighted / sum, 1e-5) << i << ' ' << c;
      }
    }
  }
}

TEST_P(RelPosAttention, GivesTheSameBitsOnAnyThreads) {
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat out(frames_, cols_);
    EXPECT_TRUE(ops::rel_pos_attention(context, q_, k_, v_, p_, args_, out).has_value());
    return out;
  });
}

TEST_P(RelPosAttention, EqualsTheScalarTier) {
  OpsContext fast, scalar(1, IsaTier::kScalar);
  TestMat got(frames_, cols_), want(frames_, cols_);
  ASSERT_TRUE(ops::rel_pos_attention(fast, q_, k_, v_, p_, args_, got));
  ASSERT_TRUE(ops::rel_pos_attention(scalar, q_, k_, v_, p_, args_, want));
  EXPECT_TRUE(got == want);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RelPosAttention,
                         testing::Values(RelativeCase{2, 64, 150}, RelativeCase{4, 16, 65},
                                         RelativeCase{1, 40, 64}, RelativeCase{3, 4, 20},
                                         RelativeCase{2, 32, 1}));

}  // namespace
}  // namespace rill::test
