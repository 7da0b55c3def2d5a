// SPDX-License-Identifier: Apache-2.0
// A decode step takes nothing from the heap and no lock, whatever the weights, the cache and the
// way of picking.
#include <gtest/gtest.h>

#include "session/generator.h"
#include "unit/model/lfm2_support.h"
#include "unit/session/count_allocations.h"

namespace rill::session {
namespace {

using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

struct DecodeCase {
  const char* name;
  DType matrices;
  uint32_t experts;
  DType kv_type;
  float temperature;
};

class DecodeStep : public testing::TestWithParam<DecodeCase> {};

TEST_P(DecodeStep, TakesNoMemoryAndNoLock) {
  TinySpec spec;
  spec.layers = "caca";
  spec.D = spec.I = spec.expert_I = 64;
  spec.experts = GetParam().experts;
  spec.matrices = GetParam().matrices;
  spec.context = 600;
  Compute compute;
  const LoadedTiny tiny(spec, compute);
  auto sequence = Sequence::create(*tiny.backbone, GetParam().kv_type);
  ASSERT_TRUE(sequence.has_value());
  ASSERT_TRUE(sequence->append_tokens(compute.context, some_tokens(6, 64)));
  ASSERT_TRUE(sequence->reserve(400));
  GenerateOptions options;
  options.max_tokens = 300;
  options.sampler.temperature = GetParam().temperature;
  options.sampler.top_k = 40;
  options.sampler.top_p = 0.9f;
  options.sampler.min_p = 0.01f;
  Generator generator(*sequence, options);
  bool picked = true;
  const auto step = [&] {
    const auto token = generator.next(compute.context);
    picked = picked && token.has_value() && token->has_value();
  };
  for (int i = 0; i < 3; ++i) step();
  const size_t allocations = test::num_allocations();
  const size_t locks = test::num_locks();
  const size_t scratch = compute.arena.reserved_bytes();
  const size_t state = sequence->state().memory_bytes();
  for (int i = 0; i < 290; ++i) step();
  EXPECT_EQ(test::num_allocations(), allocations);
  EXPECT_EQ(test::num_locks(), locks);
  EXPECT_EQ(compute.arena.reserved_bytes(), scratch);
  EXPECT_EQ(sequence->state().memory_bytes(), state);
  EXPECT_TRUE(picked);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DecodeStep,
    testing::Values(DecodeCase{"f32", DType::kF32, 0, DType::kF32, 0.0f},
                    DecodeCase{"f16_sampled", DType::kF16, 0, DType::kF16, 0.8f},
                    DecodeCase{"q8_0", DType::kQ8_0, 0, DType::kF16, 0.0f},
                    DecodeCase{"q4_0_sampled", DType::kQ4_0, 0, DType::kF32, 0.8f},
                    DecodeCase{"sparse_bf16", DType::kBF16, 6, DType::kF16, 0.0f},
                    DecodeCase{"sparse_q4_0_sampled", DType::kQ4_0, 6, DType::kF16, 0.8f}),
    [](const auto& one) { return std::string(one.param.name); });

// A counter that counts nothing proves nothing.
TEST(Counters, CountAnAllocationAndALock) {
  const size_t allocations = test::num_allocations();
  const auto value = std::make_unique<int>(7);
  EXPECT_EQ(test::num_allocations(), allocations + 1) << *value;
  if (!test::counts_locks()) GTEST_SKIP() << "locks are not counted in this build";
  const size_t locks = test::num_locks();
  test::take_a_lock();
  EXPECT_EQ(test::num_locks(), locks + 1);
}

}  // namespace
}  // namespace rill::session
