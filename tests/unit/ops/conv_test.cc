// SPDX-License-Identifier: Apache-2.0
#include "ops/conv.h"

#include <gtest/gtest.h>

#include "unit/ops/ops_support.h"

namespace rill::test {
namespace {

/// One short conv: D channels, kernel L, with or without bias.
struct ShortConvCase {
  size_t channels;
  size_t kernel;
  bool bias;
};

class ShortConv : public testing::TestWithParam<ShortConvCase> {
 protected:
  static constexpr size_t kSteps = 23;
  const size_t channels_ = GetParam().channels;
  const size_t kernel_ = GetParam().kernel;
  const TestMat weight_ = TestMat::random(kernel_, channels_, 1);
  const TestMat bias_ = TestMat::random(1, channels_, 2);
  const TestMat bcx_ = TestMat::random(kSteps, 3 * channels_, 3, 4);
  const TestMat state_ = TestMat::random(kernel_ - 1, channels_, 4);
  const ops::ShortConvArgs args_{weight_.data(), GetParam().bias ? bias_.data() : nullptr, kernel_};
};

TEST_P(ShortConv, EqualsTheWrittenDefinition) {
  OpsContext context;
  TestMat state = state_;
  TestMat out(kSteps, channels_), u_out(kSteps, channels_), conv_out(kSteps, channels_);
  ASSERT_TRUE(ops::short_conv(context, bcx_, args_, state, out, u_out, conv_out));
  for (size_t c = 0; c < channels_; ++c) {
    std::vector<float> u;
    for (size_t i = 0; i + 1 < kernel_; ++i) u.push_back(state_.at(i, c));
    for (size_t t = 0; t < kSteps; ++t) {
      u.push_back(bcx_.at(t, c) * bcx_.at(t, 2 * channels_ + c));
      EXPECT_EQ(u_out.at(t, c), u.back());
      float sum = 0.0f;
      for (size_t m = 0; m < kernel_; ++m) sum = std::fma(weight_.at(m, c), u[t + m], sum);
      if (GetParam().bias) sum = sum + bias_.at(0, c);
      EXPECT_EQ(conv_out.at(t, c), sum);
      EXPECT_EQ(out.at(t, c), bcx_.at(t, channels_ + c) * sum) << t << ' ' << c;
    }
    for (size_t i = 0; i + 1 < kernel_; ++i) EXPECT_EQ(state.at(i, c), u[kSteps + i]);
  }
}

TEST_P(ShortConv, GivesTheSameBitsInAnyCut) {
  OpsContext context;
  TestMat want_state = state_;
  TestMat want(kSteps, channels_);
  ASSERT_TRUE(ops::short_conv(context, bcx_, args_, want_state, want));
  for (const std::vector<size_t>& cut :
       {std::vector<size_t>(kSteps, 1), {1, 22}, {22, 1}, {2, 1, 3, 0, 1, 16}, {7, 16}}) {
    TestMat state = state_;
    TestMat out(kSteps, channels_);
    size_t first = 0;
    for (const size_t count : cut) {
      ASSERT_TRUE(ops::short_conv(context, bcx_.mat().row_range(first, count), args_, state,
                                  out.mat().row_range(first, count)));
      first += count;
    }
    ASSERT_EQ(first, kSteps);
    EXPECT_TRUE(out == want);
    EXPECT_TRUE(state == want_state);
  }
}

TEST_P(ShortConv, GivesTheSameBitsOnAnyThreads) {
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat state = state_;
    TestMat out(kSteps + kernel_ - 1, channels_);
    EXPECT_TRUE(
        ops::short_conv(context, bcx_, args_, state, out.mat().row_range(0, kSteps)).has_value());
    for (size_t i = 0; i + 1 < kernel_; ++i)
      std::copy_n(&state.at(i, 0), channels_, &out.at(kSteps + i, 0));
    return out;
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShortConv,
                         testing::Values(ShortConvCase{300, 3, false}, ShortConvCase{64, 4, true},
                                         ShortConvCase{17, 2, false}, ShortConvCase{5, 1, true},
                                         ShortConvCase{40, 200, false}));

TEST(DepthwiseConv1d, EqualsTheWrittenDefinition) {
  constexpr size_t kChannels = 150;
  for (const size_t steps : {1, 3, 8, 9, 130}) {
    for (const size_t kernel : {1, 9, 31}) {
      const TestMat x = TestMat::random(steps, kChannels, 1, 3);
      const TestMat weight = TestMat::random(kChannels, kernel, 2);
      const TestMat parts = TestMat::random(3, kChannels, 3);
      OpsContext context;
      TestMat out(steps, kChannels);
      ops::depthwise_conv1d(context, x, weight.data(), kernel, parts.data(),
                            parts.data() + kChannels, parts.data() + 2 * kChannels, out);
      const auto padding = static_cast<ptrdiff_t>(kernel / 2);
      for (size_t t = 0; t < steps; ++t) {
        for (size_t c = 0; c < kChannels; ++c) {
          float sum = 0.0f;
          for (size_t k = 0; k < kernel; ++k) {
            const ptrdiff_t row = static_cast<ptrdiff_t>(t + k) - padding;
            const bool inside = row >= 0 && row < static_cast<ptrdiff_t>(steps);
            sum = std::fma(weight.at(c, k), inside ? x.at(static_cast<size_t>(row), c) : 0.0f, sum);
          }
          ASSERT_EQ(out.at(t, c), std::fma(sum + parts.at(0, c), parts.at(1, c), parts.at(2, c)))
              << t << ' ' << c;
        }
      }
    }
  }
}

TEST(DepthwiseConv1d, GivesTheSameBitsOnAnyThreads) {
  const TestMat x = TestMat::random(200, 512, 1);
  const TestMat weight = TestMat::random(512, 9, 2);
  const TestMat parts = TestMat::random(3, 512, 3);
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat out(200, 512);
    ops::depthwise_conv1d(context, x, weight.data(), 9, parts.data(), parts.data() + 512,
                          parts.data() + 1024, out);
    return out;
  });
}

/// The pixel under a tap of a 3x3 kernel with stride 2 and padding 1, or nothing outside the image.
bool tap_pixel(size_t y, size_t x, size_t tap, size_t height, size_t width, size_t& row,
               size_t& col) {
  const auto r = static_cast<ptrdiff_t>(2 * y + tap / 3) - 1;
  const auto c = static_cast<ptrdiff_t>(2 * x + tap % 3) - 1;
  row = static_cast<size_t>(r);
  col = static_cast<size_t>(c);
  return r >= 0 && c >= 0 && row < height && col < width;
}

struct ImageSize {
  size_t height, width;
};
constexpr ImageSize kImages[] = {{1, 1}, {2, 2}, {1, 7}, {5, 4}, {8, 16}, {9, 3}};

TEST(Im2col, GathersPatchesWithZeroPadding) {
  for (const auto [height, width] : kImages) {
    const TestMat image = TestMat::random(height, width, 1, 2);
    const size_t out_height = (height + 1) / 2, out_width = (width + 1) / 2;
    OpsContext context;
    TestMat patches(out_height * out_width, 9);
    ops::im2col_3x3_stride2(context, image, patches);
    for (size_t p = 0; p < patches.rows(); ++p) {
      for (size_t tap = 0; tap < 9; ++tap) {
        size_t row, col;
        const bool inside = tap_pixel(p / out_width, p % out_width, tap, height, width, row, col);
        ASSERT_EQ(patches.at(p, tap), inside ? image.at(row, col) : 0.0f);
      }
    }
  }
}

TEST(DepthwiseConv2d, EqualsTheWrittenDefinition) {
  constexpr size_t kChannels = 140;
  const TestMat weight = TestMat::random(kChannels, 9, 2);
  const TestMat bias = TestMat::random(1, kChannels, 3);
  for (const auto [height, width] : kImages) {
    const TestMat image = TestMat::random(height * width, kChannels, 1, 2);
    const size_t out_height = (height + 1) / 2, out_width = (width + 1) / 2;
    OpsContext context;
    TestMat out(out_height * out_width, kChannels);
    ops::depthwise_conv2d_3x3_stride2(context, image, {height, width, kChannels}, weight.data(),
                                      bias.data(), out);
    for (size_t p = 0; p < out.rows(); ++p) {
      for (size_t c = 0; c < kChannels; ++c) {
        float sum = 0.0f;
        for (size_t tap = 0; tap < 9; ++tap) {
          size_t row, col;
          const bool inside = tap_pixel(p / out_width, p % out_width, tap, height, width, row, col);
          sum = std::fma(weight.at(c, tap), inside ? image.at(row * width + col, c) : 0.0f, sum);
        }
        ASSERT_EQ(out.at(p, c), sum + bias.at(0, c)) << p << ' ' << c;
      }
    }
  }
}

TEST(DepthwiseConv2d, GivesTheSameBitsOnAnyThreads) {
  const TestMat image = TestMat::random(31 * 16, 64, 1);
  const TestMat weight = TestMat::random(64, 9, 2);
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat out(16 * 8, 64);
    ops::depthwise_conv2d_3x3_stride2(context, image, {31, 16, 64}, weight.data(), weight.data(),
                                      out);
    return out;
  });
}

}  // namespace
}  // namespace rill::test
