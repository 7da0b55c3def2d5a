// SPDX-License-Identifier: Apache-2.0
#include "ops/moe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "support/test_data.h"
#include "unit/ops/ops_support.h"

namespace rill::test {
namespace {

struct ReferenceCase {
  const char* name;
  bool bias;
  bool normalize;
  float scale;
};

class RouteReference : public testing::TestWithParam<ReferenceCase> {};

TEST_P(RouteReference, SelectsTheSameExpertsAndWeights) {
  const Vectors vectors(data_path("ops/ops.safetensors"));
  const std::string prefix = std::string("route_") + GetParam().name + ".";
  const std::vector<float> logits = vectors.floats(prefix + "logits");
  const std::vector<float> bias = vectors.floats(prefix + "bias");
  const std::vector<float> want_weights = vectors.floats(prefix + "weights");
  const std::vector<int64_t> want_experts = vectors.ints(prefix + "experts");
  ops::RouterArgs args;
  args.experts_per_token = 4;
  args.expert_bias = GetParam().bias ? bias.data() : nullptr;
  args.normalize = GetParam().normalize;
  args.scaling_factor = GetParam().scale;
  OpsContext context;
  std::vector<int32_t> experts(12 * 4);
  TestMat weights(12, 4);
  ops::route(context, {logits.data(), 12, 32, 32}, args, experts, weights);
  for (size_t t = 0; t < 12; ++t) {
    // The reference's order is not defined: compare as sets of pairs.
    std::vector<std::pair<int64_t, float>> want;
    for (size_t i = t * 4; i < t * 4 + 4; ++i) want.emplace_back(want_experts[i], want_weights[i]);
    std::sort(want.begin(), want.end());
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(experts[t * 4 + i], want[i].first) << "token " << t;
      EXPECT_NEAR(weights.at(t, i), want[i].second, 1e-6f * want[i].second) << "token " << t;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RouteReference,
                         testing::Values(ReferenceCase{"default", true, true, 1.0f},
                                         ReferenceCase{"nobias", false, true, 1.0f},
                                         ReferenceCase{"nonorm", true, false, 1.0f},
                                         ReferenceCase{"scaled", true, true, 2.5f}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Route, TakesTheLowerIndexOfEqualScores) {
  OpsContext context;
  TestMat logits(1, 5), weights(1, 2);
  logits.values() = {0.5f, 1.0f, 1.0f, 1.0f, 0.0f};
  std::vector<int32_t> experts(2);
  ops::RouterArgs args;
  args.experts_per_token = 2;
  ops::route(context, logits, args, experts, weights);
  EXPECT_EQ(experts, (std::vector<int32_t>{1, 2}));
}

TEST(Route, SelectsDistinctExpertsEvenWithNaN) {
  OpsContext context;
  TestMat logits(1, 4), weights(1, 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  logits.values() = {nan, 1.0f, nan, nan};
  std::vector<int32_t> experts(3);
  ops::RouterArgs args;
  args.experts_per_token = 3;
  ops::route(context, logits, args, experts, weights);
  EXPECT_EQ(experts, (std::vector<int32_t>{0, 1, 2}));
}

TEST(Route, GivesTheSameBitsOnAnyThreads) {
  const TestMat logits = TestMat::random(500, 32, 1);
  expect_same_on_all_threads([&](ops::Context& context) {
    TestMat weights(500, 4);
    std::vector<int32_t> experts(2000);
    ops::RouterArgs args;
    args.experts_per_token = 4;
    ops::route(context, logits, args, experts, weights);
    return weights;
  });
}

}  // namespace
}  // namespace rill::test
