// SPDX-License-Identifier: Apache-2.0
#include "session/prompt_lookup.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>

#include "session/generator.h"
#include "unit/model/lfm2_support.h"

namespace rill::session {
namespace {

using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

std::vector<int32_t> guess_after(const std::vector<int32_t>& history, size_t max_guesses) {
  PromptLookup lookup(max_guesses);
  for (const int32_t token : history) lookup.observe(token);
  const auto guess = lookup.guess();
  return {guess.begin(), guess.end()};
}

using Tokens = std::vector<int32_t>;

TEST(PromptLookup, GuessesWhatFollowedTheSameTokens) {
  EXPECT_EQ(guess_after({1, 2, 3, 4, 5, 9, 1, 2}, 3), (Tokens{3, 4, 5}));
}

TEST(PromptLookup, PrefersTheLongestMatchThenTheLatest) {
  EXPECT_EQ(guess_after({7, 1, 2, 30, 8, 1, 2, 40, 7, 1, 2}, 1), Tokens{30});
  EXPECT_EQ(guess_after({1, 2, 30, 8, 1, 2, 40, 9, 1, 2}, 1), Tokens{40});
}

TEST(PromptLookup, GuessesNothingFromOneTokenOrLess) {
  EXPECT_TRUE(guess_after({}, 4).empty());
  EXPECT_TRUE(guess_after({5}, 4).empty());
  EXPECT_TRUE(guess_after({5, 6, 7, 5}, 4).empty());
  EXPECT_TRUE(guess_after({1, 2, 3, 4}, 4).empty());
}

TEST(PromptLookup, GuessesLessWhereGuessesFail) {
  PromptLookup lookup(8);
  for (int round = 0; round < 3; ++round) {
    for (int32_t token = 0; token < 12; ++token) lookup.observe(token);
  }
  EXPECT_EQ(lookup.guess().size(), 8u);
  lookup.report(8, 2);
  EXPECT_EQ(lookup.guess().size(), 3u);
  lookup.report(3, 0);
  EXPECT_EQ(lookup.guess().size(), 1u);
  lookup.report(1, 1);
  EXPECT_EQ(lookup.guess().size(), 2u);
}

/// A tiny model with a prompt that repeats itself.
struct Prompted {
  explicit Prompted(const TinySpec& spec = {}, DType kv_type = DType::kF16) : tiny(spec, compute) {
    auto created = Sequence::create(*tiny.backbone, kv_type);
    RILL_CHECK(created.has_value(), "sequence");
    sequence = std::make_unique<Sequence>(std::move(created).value());
    prompt = some_tokens(6, 64);
    prompt.insert(prompt.end(), prompt.begin(), prompt.end());
    RILL_CHECK(sequence->append_tokens(compute.context, prompt).has_value(), "prompt");
  }
  Tokens run(GenerateOptions options) {
    Generator generator(*sequence, std::move(options));
    generator.observe_prompt(prompt);
    Tokens reply;
    while (true) {
      auto token = generator.next(compute.context);
      RILL_CHECK(token.has_value(), "token");
      if (!*token) break;
      reply.push_back(**token);
      taken = std::max(taken, sequence->guesses_taken());
    }
    return reply;
  }
  Compute compute;
  LoadedTiny tiny;
  std::unique_ptr<Sequence> sequence;
  Tokens prompt;
  size_t taken = 0;  // guesses that came true in one go
};

void expect_same_end(Prompted& a, Prompted& b) {
  ASSERT_EQ(a.sequence->position(), b.sequence->position());
  EXPECT_EQ(a.sequence->content(), b.sequence->content());
  const auto logits_a = a.sequence->logits(a.compute.context);
  const auto logits_b = b.sequence->logits(b.compute.context);
  ASSERT_TRUE(logits_a.has_value() && logits_b.has_value());
  EXPECT_EQ(std::memcmp(logits_a->data(), logits_b->data(), logits_a->size_bytes()), 0);
  // The state below them is the same too: what comes next says so.
  for (const int32_t token : {3, 5, 3}) {
    ASSERT_TRUE(a.sequence->append_token(a.compute.context, token).has_value());
    ASSERT_TRUE(b.sequence->append_token(b.compute.context, token).has_value());
  }
  EXPECT_EQ(std::memcmp(a.sequence->hidden().data(), b.sequence->hidden().data(),
                        a.sequence->hidden().size_bytes()),
            0);
}

TEST(PromptLookupReply, IsTheSameReplyGreedyAndSampled) {
  for (const float temperature : {0.0f, 0.3f, 1.0f}) {
    for (const size_t guesses : {1u, 3u, 16u}) {
      Prompted plain;
      Prompted ahead;
      GenerateOptions options;
      options.max_tokens = 60;
      options.sampler.temperature = temperature;
      options.sampler.seed = 5;
      options.sampler.repetition_penalty = temperature == 0.3f ? 1.1f : 1.0f;
      const Tokens want = plain.run(options);
      options.prompt_lookup = guesses;
      EXPECT_EQ(ahead.run(options), want) << temperature << " " << guesses;
      if (temperature == 0.0f) {
        EXPECT_GT(ahead.taken, 0u);  // greedy replies of small models repeat themselves
      }
      expect_same_end(plain, ahead);
    }
  }
}

TEST(PromptLookupReply, EndsAtTheStopIdWithoutATraceOfLaterGuesses) {
  GenerateOptions options;
  options.max_tokens = 60;
  Prompted first;
  const Tokens all = first.run(options);
  options.stop_ids = {all[20]};
  Prompted plain;
  Prompted ahead;
  const Tokens want = plain.run(options);
  options.prompt_lookup = 8;
  EXPECT_EQ(ahead.run(options), want);
  expect_same_end(plain, ahead);
}

TEST(AppendTokenAhead, WrongGuessesLeaveNoTrace) {
  for (const DType kv_type : {DType::kF16, DType::kF32}) {
    for (size_t right = 0; right <= 3; ++right) {
      Prompted plain({}, kv_type);
      Prompted ahead({}, kv_type);
      const Tokens truth = {9, 8, 7, 6};
      Tokens guesses = {8, 7, 6};
      for (size_t i = right; i < guesses.size(); ++i) guesses[i] = 1;
      ASSERT_TRUE(
          ahead.sequence->append_token_ahead(ahead.compute.context, 9, guesses).has_value());
      for (size_t i = 0; i < truth.size(); ++i) {
        ASSERT_TRUE(plain.sequence->append_token(plain.compute.context, truth[i]).has_value());
        if (i > 0) {
          ASSERT_TRUE(ahead.sequence->append_token(ahead.compute.context, truth[i]).has_value());
        }
        const auto a = plain.sequence->logits(plain.compute.context);
        const auto b = ahead.sequence->logits(ahead.compute.context);
        EXPECT_EQ(std::memcmp(a->data(), b->data(), a->size_bytes()), 0) << right << " " << i;
      }
      EXPECT_EQ(ahead.sequence->guesses_taken(), right == 3 ? 3u : 0u);
      expect_same_end(plain, ahead);
    }
  }
}

TEST(AppendTokenAhead, ClonesAndMarksSeeOnlyWhatIsCertain) {
  Prompted plain;
  Prompted ahead;
  ASSERT_TRUE(plain.sequence->append_token(plain.compute.context, 9).has_value());
  const Tokens guesses = {8, 7, 6};
  ASSERT_TRUE(ahead.sequence->append_token_ahead(ahead.compute.context, 9, guesses).has_value());
  const Sequence::Mark mark = ahead.sequence->mark();
  *ahead.sequence = ahead.sequence->clone();
  ASSERT_TRUE(ahead.sequence->append_token(ahead.compute.context, 8).has_value());
  ASSERT_TRUE(ahead.sequence->truncate(mark).has_value());
  expect_same_end(plain, ahead);
}

TEST(AppendTokenAhead, LeavesOutGuessesPastTheContextOrTheVocabulary) {
  Prompted plain;
  Prompted ahead;
  while (plain.sequence->room() > 2) {
    ASSERT_TRUE(plain.sequence->append_token(plain.compute.context, 4).has_value());
    ASSERT_TRUE(ahead.sequence->append_token(ahead.compute.context, 4).has_value());
  }
  const Tokens bad = {1 << 20};
  ASSERT_TRUE(ahead.sequence->append_token_ahead(ahead.compute.context, 9, bad).has_value());
  const Tokens guesses = {8, 7, 6};
  ASSERT_TRUE(ahead.sequence->append_token_ahead(ahead.compute.context, 9, guesses).has_value());
  EXPECT_EQ(ahead.sequence->num_guesses(), 0u);
  EXPECT_FALSE(ahead.sequence->append_token_ahead(ahead.compute.context, 9, guesses).has_value());
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(plain.sequence->append_token(plain.compute.context, 9).has_value());
  EXPECT_EQ(plain.sequence->content(), ahead.sequence->content());
}

}  // namespace
}  // namespace rill::session
