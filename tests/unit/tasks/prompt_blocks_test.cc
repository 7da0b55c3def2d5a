// SPDX-License-Identifier: Apache-2.0
// Prefill blocks that a spoken conversation keeps: several prompts in few slots save steps and
// change no bit, compared with a prefill that knows nothing of earlier ones.
#include <gtest/gtest.h>

#include "session/prefix_cache.h"
#include "unit/model/lfm2_support.h"

namespace rill::session {
namespace {

using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

constexpr size_t kBlock = PrefixCache::kBlockSteps;

using Tokens = std::vector<int32_t>;

Tokens prompt_of(size_t count, uint64_t seed) { return some_tokens(count, 64, seed); }

Tokens joined(Tokens head, const Tokens& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Tokens first_of(const Tokens& tokens, size_t count) {
  return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)};
}

class PromptBlocksTest : public testing::Test {
 protected:
  static std::vector<StepInput> steps_of(const Tokens& tokens) {
    std::vector<StepInput> steps;
    for (const int32_t token : tokens) steps.push_back(StepInput::of_token(token));
    return steps;
  }
  static std::vector<float> logits(Sequence& sequence, Compute& compute) {
    const auto values = sequence.logits(compute.context);
    RILL_CHECK(values.has_value(), "logits");
    return {values->begin(), values->end()};
  }
  std::vector<float> fresh(const Tokens& tokens) {
    auto sequence = Sequence::create(*tiny_.backbone, DType::kF32);
    RILL_CHECK(sequence.has_value(), "sequence");
    RILL_CHECK(sequence->append(compute_.context, steps_of(tokens)).has_value(), "append");
    return logits(*sequence, compute_);
  }
  /// Prefills, expects the bits of a fresh run, also after one more step, and returns the steps
  /// that were kept.
  size_t prefill(PrefixCache& cache, const Tokens& tokens) {
    return prefill(cache, tokens, compute_);
  }
  size_t prefill(PrefixCache& cache, const Tokens& tokens, Compute& compute) {
    auto sequence = cache.prefill(compute.context, *tiny_.backbone, DType::kF32, steps_of(tokens));
    RILL_CHECK(sequence.has_value(), "prefill");
    EXPECT_EQ(sequence->position(), tokens.size());
    EXPECT_EQ(logits(*sequence, compute), fresh(tokens));
    EXPECT_TRUE(sequence->append_tokens(compute.context, Tokens{7}).has_value());
    EXPECT_EQ(logits(*sequence, compute), fresh(joined(tokens, {7})));
    return cache.cached_steps();
  }

  Compute compute_;
  LoadedTiny tiny_{TinySpec{.context = 2000}, compute_};
};

TEST_F(PromptBlocksTest, AGrowingPromptResumesFromItsLastFullBlock) {
  PrefixCache cache(1);
  const Tokens all = prompt_of(1100, 1);
  EXPECT_EQ(prefill(cache, first_of(all, 300)), 0u);
  EXPECT_EQ(prefill(cache, first_of(all, 700)), kBlock);
  EXPECT_EQ(prefill(cache, all), 2 * kBlock);
  EXPECT_EQ(prefill(cache, all), 4 * kBlock);
  EXPECT_EQ(prefill(cache, first_of(all, 400)), kBlock);  // a shorter one leaves the longer one
  EXPECT_EQ(prefill(cache, all), 4 * kBlock);
  EXPECT_EQ(cache.num_prompts(), 1u);
}

TEST_F(PromptBlocksTest, AnyNumberOfThreadsRestoresTheSameBits) {
  const Tokens tokens = prompt_of(600, 3);
  PrefixCache cache(1);
  for (const size_t threads : {1, 4, 8}) {
    Compute other(threads);
    EXPECT_EQ(prefill(cache, tokens, other), threads == 1 ? 0u : 2 * kBlock);
  }
}

TEST_F(PromptBlocksTest, WholeBlocksAndLessThanOne) {
  PrefixCache cache(2);
  EXPECT_EQ(prefill(cache, prompt_of(kBlock - 1, 1)), 0u);
  EXPECT_EQ(cache.num_prompts(), 0u);  // nothing to keep
  const Tokens two_blocks = prompt_of(2 * kBlock, 2);
  EXPECT_EQ(prefill(cache, two_blocks), 0u);
  EXPECT_EQ(prefill(cache, two_blocks), kBlock);  // the last block always runs
  EXPECT_EQ(prefill(cache, joined(two_blocks, {1, 2, 3})), kBlock);
  EXPECT_EQ(prefill(cache, joined(two_blocks, {1, 2, 3})), 2 * kBlock);
}

TEST_F(PromptBlocksTest, PromptsThatTakeTurnsKeepTheirBlocks) {
  PrefixCache cache(2);
  Tokens a = prompt_of(300, 1);
  Tokens b = prompt_of(300, 2);
  prefill(cache, a);
  prefill(cache, b);
  for (size_t turn = 1; turn <= 2; ++turn) {
    a = joined(a, prompt_of(kBlock, 3));
    b = joined(b, prompt_of(kBlock, 4));
    EXPECT_EQ(prefill(cache, a), turn * kBlock);
    EXPECT_EQ(prefill(cache, b), turn * kBlock);
  }
  EXPECT_EQ(cache.num_prompts(), 2u);
}

TEST_F(PromptBlocksTest, TheLeastRecentlyUsedPromptIsDropped) {
  PrefixCache cache(2);
  const Tokens a = prompt_of(300, 1);
  const Tokens b = prompt_of(300, 2);
  prefill(cache, a);
  prefill(cache, b);
  EXPECT_EQ(prefill(cache, a), kBlock);  // used again: b is the older one now
  prefill(cache, prompt_of(300, 3));
  EXPECT_EQ(cache.num_prompts(), 2u);
  EXPECT_EQ(prefill(cache, a), kBlock);
  EXPECT_EQ(prefill(cache, b), 0u);
}

TEST_F(PromptBlocksTest, PromptsThatStartTheSameShareThatStart) {
  PrefixCache cache(2);
  const Tokens system = prompt_of(kBlock, 9);
  const Tokens a = joined(system, prompt_of(400, 1));
  const Tokens b = joined(system, prompt_of(400, 2));
  prefill(cache, a);
  const size_t bytes_of_one = cache.memory_bytes();
  EXPECT_EQ(prefill(cache, b), kBlock);
  EXPECT_LT(cache.memory_bytes(), 2 * bytes_of_one);
  EXPECT_EQ(prefill(cache, a), 2 * kBlock);
  EXPECT_EQ(prefill(cache, b), 2 * kBlock);
  prefill(cache, prompt_of(300, 3));  // drops a; what b shares with it stays
  EXPECT_EQ(prefill(cache, b), 2 * kBlock);
}

TEST_F(PromptBlocksTest, APromptThatPartsInsideABlockRunsFromThatBlock) {
  PrefixCache cache(2);
  const Tokens a = prompt_of(900, 1);
  Tokens changed = a;
  changed[kBlock + 10] = (changed[kBlock + 10] + 1) % 64;
  prefill(cache, a);
  EXPECT_EQ(prefill(cache, changed), kBlock);
  EXPECT_EQ(prefill(cache, a), 3 * kBlock);
  EXPECT_EQ(prefill(cache, changed), 3 * kBlock);
  EXPECT_EQ(cache.num_prompts(), 2u);
}

TEST_F(PromptBlocksTest, NoSlotsKeepNothing) {
  PrefixCache cache(0);
  const Tokens tokens = prompt_of(600, 1);
  EXPECT_EQ(prefill(cache, tokens), 0u);
  EXPECT_EQ(prefill(cache, tokens), 0u);
  EXPECT_EQ(cache.memory_bytes(), 0u);
}

}  // namespace
}  // namespace rill::session
