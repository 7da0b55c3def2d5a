// SPDX-License-Identifier: Apache-2.0
#include "session/prefix_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "session/generator.h"
#include "support/test_data.h"
#include "unit/model/lfm2_support.h"

namespace rill::session {
namespace {

namespace fs = std::filesystem;
using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

using Tokens = std::vector<int32_t>;

TinySpec narrow(uint32_t context = 8000) {
  TinySpec spec;
  spec.layers = "ca";
  spec.D = 16;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.I = 16;
  spec.context = context;
  return spec;
}

Tokens joined(Tokens tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

class PrefixCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = test::temp_path(info->name());
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::unique_ptr<PrefixCache> open(size_t max_prompts, uint64_t max_bytes = uint64_t{1} << 30,
                                    const std::string& tokenizer = "") {
    PrefixCacheOptions options;
    options.max_prompts = max_prompts;
    options.directory = directory_;
    options.max_disk_bytes = max_bytes;
    options.tokenizer = tokenizer;
    auto cache = PrefixCache::open(options);
    RILL_CHECK(cache.has_value(), "cache");
    return std::move(cache).value();
  }
  Sequence prefill(PrefixCache& cache, const Tokens& tokens) {
    std::vector<StepInput> steps;
    for (const int32_t token : tokens) steps.push_back(StepInput::of_token(token));
    auto sequence = cache.prefill(compute_.context, *tiny_.backbone, DType::kF16, steps);
    EXPECT_TRUE(sequence.has_value()) << (sequence ? "" : sequence.error().message);
    RILL_CHECK(sequence.has_value(), "prefill");
    return std::move(sequence).value();
  }
  std::vector<float> logits(Sequence& sequence) {
    const auto values = sequence.logits(compute_.context);
    return values ? std::vector<float>(values->begin(), values->end()) : std::vector<float>();
  }
  /// A turn of a chat: prompt and reply are kept. Returns all that the sequence then holds.
  Tokens turn(PrefixCache& cache, const Tokens& prompt) {
    Sequence sequence = prefill(cache, prompt);
    cache.keep(sequence);
    GenerateOptions options;
    options.max_tokens = 30;
    const auto reply = generate(compute_.context, sequence, options);
    RILL_CHECK(reply.has_value(), "reply");
    cache.keep(sequence);
    Tokens all = joined(prompt, reply->tokens);
    all.resize(sequence.position());
    return all;
  }
  /// Prefills with the cache and without, compares the bits, and returns the steps that were
  /// cached.
  size_t cached(PrefixCache& cache, const Tokens& prompt) {
    Sequence sequence = prefill(cache, prompt);
    const size_t steps = cache.cached_steps();
    PrefixCache none(0);
    Sequence fresh = prefill(none, prompt);
    EXPECT_EQ(logits(sequence), logits(fresh));
    EXPECT_EQ(sequence.content(), fresh.content());
    const Tokens more = some_tokens(3, 64, 77);
    EXPECT_TRUE(sequence.append_tokens(compute_.context, more));
    EXPECT_TRUE(fresh.append_tokens(compute_.context, more));
    EXPECT_EQ(logits(sequence), logits(fresh));
    return steps;
  }
  std::vector<fs::path> files() {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(directory_)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  uint64_t disk_bytes() {
    uint64_t total = 0;
    for (const fs::path& path : files()) total += fs::file_size(path);
    return total;
  }

  Compute compute_;
  LoadedTiny tiny_{narrow(), compute_};
  std::string directory_;
  const Tokens system_ = some_tokens(5000, 64);
};

TEST_F(PrefixCacheTest, ASecondTurnComputesOnlyWhatIsNew) {
  PrefixCache cache(1);
  const Tokens first = turn(cache, joined(system_, some_tokens(40, 64, 2)));
  EXPECT_EQ(cache.cached_steps(), 0u);
  EXPECT_EQ(cached(cache, joined(first, some_tokens(20, 64, 3))), first.size());
}

TEST_F(PrefixCacheTest, AnEditedLastMessageStartsAtTheTurnBefore) {
  PrefixCache cache(1);
  const Tokens first = turn(cache, joined(system_, some_tokens(40, 64, 2)));
  (void)turn(cache, joined(first, some_tokens(300, 64, 3)));
  EXPECT_EQ(cached(cache, joined(first, some_tokens(300, 64, 4))), first.size());
}

TEST_F(PrefixCacheTest, RegeneratingComputesNothing) {
  PrefixCache cache(1);
  const Tokens first = turn(cache, joined(system_, some_tokens(40, 64, 2)));
  const Tokens prompt = joined(first, some_tokens(20, 64, 3));
  (void)turn(cache, prompt);
  EXPECT_EQ(cached(cache, prompt), prompt.size());
}

TEST_F(PrefixCacheTest, ChatsShareTheirSystemPrompt) {
  PrefixCache cache(4);
  const size_t blocks = system_.size() / PrefixCache::kBlockSteps * PrefixCache::kBlockSteps;
  std::vector<Tokens> chats;
  for (uint64_t i = 0; i < 10; ++i) {
    chats.push_back(turn(cache, joined(system_, some_tokens(20 + i, 64, 10 + i))));
    EXPECT_EQ(cache.cached_steps(), i == 0 ? 0 : blocks) << i;
  }
  // The last eight's ends are still there.
  for (const size_t i : {3, 9}) {
    EXPECT_EQ(cached(cache, joined(chats[i], some_tokens(9, 64, 30))), chats[i].size()) << i;
  }
  EXPECT_EQ(cached(cache, joined(chats[0], some_tokens(9, 64, 30))), blocks);
}

TEST_F(PrefixCacheTest, KeepsLittleMemory) {
  PrefixCache cache(2);
  const Tokens prompt = joined(system_, some_tokens(40, 64, 2));
  const Sequence sequence = prefill(cache, prompt);
  const size_t blocks = sequence.state().num_blocks();
  const size_t block_bytes = sequence.state().block(0).size();
  EXPECT_LT(cache.memory_bytes(), blocks * (block_bytes + 300));
  for (uint64_t i = 0; i < 5; ++i) (void)turn(cache, some_tokens(600, 64, 20 + i));
  EXPECT_EQ(cache.num_prompts(), 2u);
  EXPECT_LT(cache.memory_bytes(), 10 * block_bytes);  // the long prompt has gone with all its ends
  cache.clear();
  EXPECT_EQ(cache.memory_bytes(), 0u);
}

TEST_F(PrefixCacheTest, ARestartLosesNothing) {
  Tokens first;
  {
    const auto cache = open(1);
    first = turn(*cache, joined(system_, some_tokens(40, 64, 2)));
  }
  const auto cache = open(1);
  EXPECT_EQ(cached(*cache, joined(first, some_tokens(20, 64, 3))), first.size());
  EXPECT_EQ(cached(*cache, joined(system_, some_tokens(40, 64, 2))), 5040u);  // regenerate
  EXPECT_EQ(cached(*cache, joined(system_, some_tokens(40, 64, 4))), 4864u);  // another question
  EXPECT_EQ(cache->damaged_files(), 0u);
  EXPECT_EQ(cache->failed_writes(), 0u);
}

TEST_F(PrefixCacheTest, AnEndBehindBlocksThatWereNeverKeptComesBack) {
  Tokens all;
  {
    const auto cache = open(1);
    Sequence sequence = prefill(*cache, some_tokens(300, 64));
    const Tokens reply = some_tokens(900, 64, 5);
    ASSERT_TRUE(sequence.append_tokens(compute_.context, reply));
    cache->keep(sequence);
    all = joined(some_tokens(300, 64), reply);
  }
  const auto cache = open(1);
  EXPECT_EQ(cached(*cache, joined(all, {1, 2, 3})), all.size());
}

TEST_F(PrefixCacheTest, WhatLeavesTheMemoryIsReadBack) {
  const auto cache = open(1);
  const Tokens a = turn(*cache, some_tokens(700, 64, 1));
  const Tokens b = turn(*cache, some_tokens(700, 64, 2));
  EXPECT_EQ(cached(*cache, joined(a, {1, 2, 3})), a.size());
  EXPECT_EQ(cached(*cache, joined(b, {1, 2, 3})), b.size());
  EXPECT_EQ(cache->num_prompts(), 1u);
}

TEST_F(PrefixCacheTest, ProcessesShareAFolder) {
  const auto mine = open(2);
  const auto other = open(2);
  const Tokens a = turn(*other, some_tokens(700, 64, 1));
  other->flush();
  EXPECT_EQ(cached(*mine, joined(a, {1, 2, 3})), a.size());
  const Tokens b = turn(*mine, some_tokens(700, 64, 2));
  mine->flush();
  for (const fs::path& path : files()) fs::remove(path);  // as another process may do
  EXPECT_EQ(cached(*other, joined(b, {1, 2, 3})), 0u);
  EXPECT_EQ(other->damaged_files(), 0u);
}

TEST_F(PrefixCacheTest, FilesThatVanishedInTheMiddleCutTheChain) {
  Tokens a;
  {
    const auto cache = open(1);
    a = turn(*cache, some_tokens(1200, 64, 1));
  }
  for (const fs::path& path : files()) {
    if (path.filename().string().find("-512-") != std::string::npos) fs::remove(path);
  }
  const auto cache = open(1);
  EXPECT_EQ(cached(*cache, joined(a, {1, 2, 3})), 256u);
}

TEST_F(PrefixCacheTest, DamagedFilesAreRemovedAndCounted) {
  Tokens a;
  {
    const auto cache = open(1);
    a = turn(*cache, some_tokens(600, 64, 1));
  }
  const size_t before = files().size();
  for (const fs::path& path : files()) {
    if (path.filename().string().find("-512-") == std::string::npos) continue;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2000);
    file.put('\x55');
  }
  const auto cache = open(1);
  const Tokens prompt = joined(a, {1, 2, 3});
  EXPECT_EQ(cached(*cache, prompt), 256u);
  EXPECT_EQ(cache->damaged_files(), 1u);
  EXPECT_EQ(files().size(), before - 1);
  cache->flush();  // the block was computed again
  EXPECT_EQ(files().size(), before);
}

TEST_F(PrefixCacheTest, ForeignFilesStayAndAreNotRead) {
  fs::create_directories(directory_);
  std::ofstream(directory_ + "/notes-1-2.txt") << "mine";
  std::ofstream(directory_ + "/v1-x-y-f16-zz-q.rillstate") << "odd";
  {
    const auto cache = open(1, 1);
    (void)turn(*cache, some_tokens(600, 64, 1));
    EXPECT_EQ(cache->damaged_files(), 0u);
  }
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(PrefixCacheTest, TheFolderStaysWithinItsLimit) {
  Tokens a;
  Tokens b;
  {
    const auto cache = open(2, 60'000);
    a = turn(*cache, some_tokens(600, 64, 1));
    b = turn(*cache, some_tokens(1500, 64, 2));
  }
  EXPECT_LE(disk_bytes(), 60'000u);
  EXPECT_GT(disk_bytes(), 30'000u);
  // The first blocks of what was used last are there.
  const auto cache = open(2, 60'000);
  EXPECT_GE(cached(*cache, joined(b, {1, 2, 3})), 256u);
}

TEST_F(PrefixCacheTest, StatesBelongToModelTypeAndTokenizer) {
  Tokens a;
  {
    const auto cache = open(1, 1 << 30, "a");
    a = turn(*cache, some_tokens(600, 64, 1));
  }
  EXPECT_EQ(cached(*open(1, 1 << 30, "b"), a), 0u);
  std::vector<StepInput> steps;
  for (const int32_t token : a) steps.push_back(StepInput::of_token(token));
  const auto cache = open(1, 1 << 30, "a");
  ASSERT_TRUE(cache->prefill(compute_.context, *tiny_.backbone, DType::kF32, steps));
  EXPECT_EQ(cache->cached_steps(), 0u);
  TinySpec spec = narrow();
  spec.I = 32;
  const LoadedTiny other(spec, compute_);
  const auto another = open(1, 1 << 30, "a");
  ASSERT_TRUE(another->prefill(compute_.context, *other.backbone, DType::kF16, steps));
  EXPECT_EQ(another->cached_steps(), 0u);
  EXPECT_EQ(cached(*open(1, 1 << 30, "a"), a), a.size());
}

TEST_F(PrefixCacheTest, ACancelledPrefillKeepsNothing) {
  PrefixCache cache(1);
  const std::atomic<bool> cancel = true;
  std::vector<StepInput> steps;
  for (const int32_t token : some_tokens(600, 64)) steps.push_back(StepInput::of_token(token));
  const auto sequence =
      cache.prefill(compute_.context, *tiny_.backbone, DType::kF16, steps, &cancel);
  ASSERT_FALSE(sequence.has_value());
  EXPECT_EQ(sequence.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(cache.memory_bytes(), 0u);
}

TEST_F(PrefixCacheTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(directory_) << "a file";
  PrefixCacheOptions options;
  options.directory = directory_ + "/inside";
  const auto cache = PrefixCache::open(options);
  ASSERT_FALSE(cache.has_value());
  EXPECT_EQ(cache.error().code, ErrorCode::kIo);
  EXPECT_EQ(cache.error().message.substr(0, 19), "open prefix cache: ");
}

TEST_F(PrefixCacheTest, AFolderThatCannotBeWrittenCostsOnlyTime) {
  const auto cache = open(1);
  fs::remove_all(directory_);
  const Tokens a = turn(*cache, some_tokens(600, 64, 1));
  cache->flush();
  EXPECT_GT(cache->failed_writes(), 0u);
  EXPECT_EQ(cached(*cache, joined(a, {1, 2, 3})), a.size());
}

}  // namespace
}  // namespace rill::session
