// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "unit/model/lfm2_support.h"

namespace rill::lfm2_test {
namespace {

using model::lfm2::KvBlocks;
using ops::kKvBlockPositions;

/// A narrow model, so that runs over several blocks are quick.
TinySpec narrow() {
  TinySpec spec;
  spec.layers = "ca";
  spec.D = 16;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.I = 16;
  return spec;
}

TEST(SequenceState, StartsEmpty) {
  Compute compute(1);
  const LoadedTiny tiny({}, compute);
  const SequenceState state = make_state(*tiny.backbone);
  EXPECT_EQ(state.position(), 0u);
  EXPECT_EQ(state.num_blocks(), 0u);
  const ConstMat conv = state.conv(1);
  EXPECT_EQ(conv.rows, 2u);
  for (size_t c = 0; c < conv.cols; ++c) EXPECT_EQ(conv.row(1)[c], 0.0f);
}

TEST(SequenceState, RefusesOtherKvTypes) {
  Compute compute(1);
  const LoadedTiny tiny({}, compute);
  const auto state = SequenceState::create(tiny.backbone->config(), DType::kQ8_0);
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().message, "create sequence: kv type: got Q8_0, expected F32 or F16");
}

TEST(SequenceState, ReservesWholeBlocksOnce) {
  Compute compute(1);
  const LoadedTiny tiny({}, compute);
  SequenceState state = make_state(*tiny.backbone);
  ASSERT_TRUE(state.reserve(kKvBlockPositions + 1));
  EXPECT_EQ(state.num_blocks(), 2u);
  const std::byte* first = state.kv(0).blocks[0];
  ASSERT_TRUE(state.reserve(2 * kKvBlockPositions));
  EXPECT_EQ(state.num_blocks(), 2u);
  EXPECT_EQ(state.kv(0).blocks[0], first);
  // Two attention layers, keys and values, 2 heads of 8.
  const size_t block_bytes = 2 * 2 * 2 * kKvBlockPositions * 8 * sizeof(float);
  EXPECT_EQ(state.memory_bytes(), 2 * block_bytes + 2 * 2 * 32 * sizeof(float));
}

TEST(KvBlocks, AllocatesWholeHugePages) {
  constexpr size_t kHuge = AlignedBuffer::kHugePageBytes;
  EXPECT_EQ(KvBlocks::per_allocation(kHuge), 1u);
  EXPECT_EQ(KvBlocks::per_allocation(kHuge * 3 / 2), 2u);
  EXPECT_EQ(KvBlocks::per_allocation(kHuge / 4), 4u);
  EXPECT_EQ(KvBlocks::per_allocation(kHuge / 8), 1u);  // too many would wait for use
  EXPECT_EQ(KvBlocks::per_allocation(kHuge + 1), 1u);
}

TEST(KvBlocks, GivesBlocksThatDoNotOverlapAndTakesThemBack) {
  KvBlocks blocks(AlignedBuffer::kHugePageBytes * 3 / 2);
  auto first = blocks.take();
  ASSERT_TRUE(first);
  EXPECT_EQ(blocks.num_kept(), 1u);
  auto second = blocks.take();
  ASSERT_TRUE(second);
  EXPECT_EQ(blocks.num_kept(), 0u);
  EXPECT_EQ((*first)->bytes.data() + (*first)->bytes.size(), (*second)->bytes.data());
  EXPECT_EQ((*first)->memory, (*second)->memory);

  const auto other_holder = *second;
  blocks.give_back(*std::move(second));
  EXPECT_EQ(blocks.num_kept(), 0u) << "still held";
  const std::byte* place = (*first)->bytes.data();
  blocks.give_back(*std::move(first));
  EXPECT_EQ(blocks.num_kept(), 1u);
  auto again = blocks.take();
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->bytes.data(), place);
}

#if defined(__linux__)
TEST(KvBlocks, GivesTheMemoryOfADroppedBlockBack) {
  KvBlocks blocks(AlignedBuffer::kHugePageBytes / 2);
  auto first = blocks.take();
  auto second = blocks.take();
  ASSERT_TRUE(first && second);
  const std::span<std::byte> bytes = (*first)->bytes;
  const std::span<std::byte> others = (*second)->bytes;
  std::memset(bytes.data(), 1, bytes.size());
  std::memset(others.data(), 1, others.size());
  *first = nullptr;
  EXPECT_EQ(bytes.front(), std::byte{0}) << "pages that were given back read as zero";
  EXPECT_EQ(bytes.back(), std::byte{0});
  EXPECT_EQ(others.front(), std::byte{1});
}
#endif

// Blocks of 1.5 huge pages, as the 1.2B model's in F16.
TEST(SequenceState, CountsTheBlocksOfAnAllocation) {
  Compute compute(1);
  const LoadedTiny tiny(narrow(), compute);
  model::lfm2::Config config = tiny.backbone->config();
  config.num_kv_heads = 12;
  config.head_dim = 128;
  auto state = SequenceState::create(config, DType::kF32);
  ASSERT_TRUE(state);
  const size_t conv_bytes = state->memory_bytes();
  const size_t block_bytes = 2 * 12 * kKvBlockPositions * 128 * sizeof(float);
  ASSERT_EQ(KvBlocks::per_allocation(block_bytes), 2u);
  ASSERT_TRUE(state->reserve(1));
  EXPECT_EQ(state->memory_bytes(), 2 * block_bytes + conv_bytes);
  ASSERT_TRUE(state->reserve(2 * kKvBlockPositions));
  EXPECT_EQ(state->memory_bytes(), 2 * block_bytes + conv_bytes);
  EXPECT_EQ(state->block(1).data(), state->block(0).data() + block_bytes);
  state->advance(1);
  SequenceState clone = state->clone();
  EXPECT_EQ(clone.memory_bytes(), block_bytes + conv_bytes) << "what is only reserved stays behind";
  ASSERT_TRUE(clone.reserve(2));
  EXPECT_NE(clone.block(0).data(), state->block(0).data());
  EXPECT_EQ(clone.memory_bytes(), 2 * block_bytes + conv_bytes);
  state->reset();
  EXPECT_EQ(state->memory_bytes(), conv_bytes);
}

TEST(SequenceState, HalfPrecisionTakesHalfTheMemory) {
  Compute compute(1);
  const LoadedTiny tiny({}, compute);
  SequenceState full = make_state(*tiny.backbone, DType::kF32);
  SequenceState half = make_state(*tiny.backbone, DType::kF16);
  ASSERT_TRUE(full.reserve(1));
  ASSERT_TRUE(half.reserve(1));
  EXPECT_EQ(full.block(0).size(), 2 * half.block(0).size());
}

TEST(SequenceState, CloneSharesBlocksUntilOneIsWritten) {
  Compute compute(1);
  const LoadedTiny tiny(narrow(), compute);
  SequenceState state = make_state(*tiny.backbone);
  const auto tokens = some_tokens(kKvBlockPositions + 10, 64);
  (void)run_tokens(compute, *tiny.backbone, state, tokens);
  SequenceState copy = state.clone();
  EXPECT_EQ(copy.position(), state.position());
  EXPECT_EQ(copy.kv(0).blocks[0], state.kv(0).blocks[0]);
  EXPECT_EQ(copy.kv(0).blocks[1], state.kv(0).blocks[1]);
  const auto before = state_values(state, tiny.backbone->config());
  (void)run_tokens(compute, *tiny.backbone, copy, some_tokens(5, 64, 3));
  EXPECT_EQ(copy.kv(0).blocks[0], state.kv(0).blocks[0]);  // full: still shared
  EXPECT_NE(copy.kv(0).blocks[1], state.kv(0).blocks[1]);
  EXPECT_EQ(state_values(state, tiny.backbone->config()), before);
}

TEST(SequenceState, CloneContinuesWithTheSameBits) {
  Compute compute(1);
  const LoadedTiny tiny(narrow(), compute);
  SequenceState state = make_state(*tiny.backbone);
  (void)run_tokens(compute, *tiny.backbone, state, some_tokens(20, 64));
  SequenceState copy = state.clone();
  const auto more = some_tokens(7, 64, 3);
  EXPECT_EQ(run_tokens(compute, *tiny.backbone, copy, more),
            run_tokens(compute, *tiny.backbone, state, more));
}

TEST(SequenceState, CloneLeavesReservedBlocksBehind) {
  Compute compute(1);
  const LoadedTiny tiny(narrow(), compute);
  SequenceState state = make_state(*tiny.backbone);
  ASSERT_TRUE(state.reserve(3 * kKvBlockPositions));
  (void)run_tokens(compute, *tiny.backbone, state, some_tokens(4, 64));
  EXPECT_EQ(state.num_blocks(), 3u);
  EXPECT_EQ(state.clone().num_blocks(), 1u);
}

TEST(SequenceState, TruncationToACheckpointGivesTheBitsOfAFreshRun) {
  Compute compute(1);
  const LoadedTiny tiny(narrow(), compute);
  const auto prompt = some_tokens(kKvBlockPositions - 3, 64);
  const auto wrong = some_tokens(9, 64, 11);
  const auto right = some_tokens(9, 64, 12);
  SequenceState state = make_state(*tiny.backbone);
  (void)run_tokens(compute, *tiny.backbone, state, prompt);
  const model::lfm2::Checkpoint checkpoint = state.checkpoint();
  (void)run_tokens(compute, *tiny.backbone, state, wrong);
  state.truncate(checkpoint);
  EXPECT_EQ(state.position(), prompt.size());
  const auto again = run_tokens(compute, *tiny.backbone, state, right);

  SequenceState fresh = make_state(*tiny.backbone);
  (void)run_tokens(compute, *tiny.backbone, fresh, prompt);
  EXPECT_EQ(run_tokens(compute, *tiny.backbone, fresh, right), again);
}

TEST(SequenceState, TruncationBelowAClonesPositionDoesNotTouchTheClone) {
  Compute compute(1);
  const LoadedTiny tiny(narrow(), compute);
  SequenceState state = make_state(*tiny.backbone);
  (void)run_tokens(compute, *tiny.backbone, state, some_tokens(5, 64));
  const model::lfm2::Checkpoint checkpoint = state.checkpoint();
  (void)run_tokens(compute, *tiny.backbone, state, some_tokens(kKvBlockPositions, 64, 3));
  const SequenceState clone = state.clone();
  const auto before = state_values(clone, tiny.backbone->config());
  state.truncate(checkpoint);
  (void)run_tokens(compute, *tiny.backbone, state, some_tokens(5, 64, 4));
  EXPECT_EQ(state_values(clone, tiny.backbone->config()), before);
}

TEST(SequenceState, WindowedSequencesStopGrowing) {
  Compute compute(1);
  TinySpec spec = narrow();
  spec.window = 30;
  const LoadedTiny tiny(spec, compute);
  SequenceState state = make_state(*tiny.backbone);
  SequenceState step_by_step = make_state(*tiny.backbone);
  const auto tokens = some_tokens(5 * kKvBlockPositions, 64);
  const auto hidden = run_tokens(compute, *tiny.backbone, state, tokens, 100);
  const size_t two_blocks = 2 * state.block(4).size();
  EXPECT_TRUE(state.block(0).empty());
  EXPECT_LE(state.memory_bytes(), two_blocks + 2 * 16 * sizeof(float));
  EXPECT_EQ(run_tokens(compute, *tiny.backbone, step_by_step, tokens, 1), hidden);
  SequenceState copy = state.clone();
  const auto more = some_tokens(40, 64, 3);
  EXPECT_EQ(run_tokens(compute, *tiny.backbone, copy, more),
            run_tokens(compute, *tiny.backbone, state, more, 7));
}

}  // namespace
}  // namespace rill::lfm2_test
