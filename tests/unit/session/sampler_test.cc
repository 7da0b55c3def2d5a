// SPDX-License-Identifier: Apache-2.0
#include "session/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "base/json.h"
#include "support/test_data.h"

namespace rill::session {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> probabilities(const SamplerOptions& options, const std::vector<float>& logits) {
  Sampler sampler(options);
  std::vector<float> out(logits.size());
  sampler.probabilities(logits, out);
  return out;
}

std::vector<int32_t> draws(const SamplerOptions& options, const std::vector<float>& logits,
                           size_t count) {
  Sampler sampler(options);
  std::vector<int32_t> out;
  for (size_t i = 0; i < count; ++i) {
    const auto id = sampler.pick(logits);
    EXPECT_TRUE(id.has_value());
    out.push_back(id ? *id : -1);
  }
  return out;
}

TEST(Sampler, GivesTheReferenceProbabilities) {
  const auto bytes = test::read_file(test::data_path("models/text/sampling.json"));
  const auto json = parse_json(test::to_text(bytes));
  ASSERT_TRUE(json.has_value());
  std::vector<float> logits;
  for (const Json& value : json->find("logits")->items())
    logits.push_back(static_cast<float>(value.as_double()));
  size_t cases = 0;
  for (const auto& [name, expected] : json->find("probabilities")->members()) {
    SamplerOptions options;
    double temperature = 0;
    unsigned top_k = 0;
    ASSERT_EQ(std::sscanf(name.c_str(), "T%lf_k%u", &temperature, &top_k), 2);
    options.temperature = static_cast<float>(temperature);
    options.top_k = top_k;
    const auto got = probabilities(options, logits);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected.items()[i].as_double(), 1e-6) << name << " id " << i;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 5u);
}

TEST(Sampler, IsGreedyByDefaultAndTakesTheFirstMaximum) {
  EXPECT_EQ(draws({}, {1, 3, 2, 3}, 2), (std::vector<int32_t>{1, 1}));
  SamplerOptions one;
  one.temperature = 1;
  one.top_k = 1;
  EXPECT_EQ(draws(one, {1, 3, 2, 3}, 2), (std::vector<int32_t>{1, 1}));
}

TEST(Sampler, SameSeedSameDraws) {
  SamplerOptions options;
  options.temperature = 1;
  options.seed = 5;
  const std::vector<float> logits(50, 1.0f);
  const auto first = draws(options, logits, 40);
  EXPECT_EQ(draws(options, logits, 40), first);
  options.stream = 1;
  EXPECT_NE(draws(options, logits, 40), first);
  options.stream = 0;
  options.seed = 6;
  EXPECT_NE(draws(options, logits, 40), first);
}

TEST(Sampler, ContinuesFromASavedStep) {
  SamplerOptions options;
  options.temperature = 1;
  const std::vector<float> logits(50, 1.0f);
  const auto all = draws(options, logits, 10);
  Sampler later(options);
  later.set_step(7);
  EXPECT_EQ(*later.pick(logits), all[7]);
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  SamplerOptions options;
  options.temperature = 1;
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  std::vector<int> counts(3);
  for (const int32_t id : draws(options, logits, 20000)) ++counts[static_cast<size_t>(id)];
  EXPECT_NEAR(counts[0] / 20000.0, 0.5, 0.015);
  EXPECT_NEAR(counts[1] / 20000.0, 0.3, 0.015);
  EXPECT_NEAR(counts[2] / 20000.0, 0.2, 0.015);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  SamplerOptions options;
  options.temperature = 1;
  options.top_p = 0.75f;
  const auto p = probabilities(options, {std::log(0.2f), std::log(0.5f), std::log(0.3f)});
  EXPECT_EQ(p[0], 0.0f);
  EXPECT_NEAR(p[1], 0.625f, 1e-6f);
  EXPECT_NEAR(p[2], 0.375f, 1e-6f);
}

TEST(Sampler, TopPOverALargeVocabularyFindsTheSameSetAsAFullSort) {
  SamplerOptions options;
  options.temperature = 1;
  options.top_p = 0.9f;
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>((i * 7919) % 5000) * 0.001f;
  const auto p = probabilities(options, logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  double sum = 0;
  size_t kept = 0;
  for (int rank = 4999; rank >= 0 && sum < 0.9 * total; --rank, ++kept)
    sum += std::exp(rank * 0.001);
  size_t nonzero = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0.0f) continue;
    ++nonzero;
    EXPECT_GE(logits[i], static_cast<float>(5000 - kept) * 0.001f);
  }
  EXPECT_EQ(nonzero, kept);
}

TEST(Sampler, MinPCutsBelowAShareOfTheLargest) {
  SamplerOptions options;
  options.temperature = 1;
  options.min_p = 0.5f;
  const auto p = probabilities(options, {std::log(0.6f), std::log(0.31f), std::log(0.09f)});
  EXPECT_GT(p[1], 0.0f);
  EXPECT_EQ(p[2], 0.0f);
}

TEST(Sampler, RepetitionPenaltyCountsATokenOnce) {
  SamplerOptions options;
  options.temperature = 1;
  options.repetition_penalty = 2;
  Sampler sampler(options);
  sampler.observe_prompt(0);
  sampler.observe_reply(0);
  sampler.observe_prompt(1);
  std::vector<float> p(3);
  sampler.probabilities(std::vector<float>{2, -1, 1}, p);  // become 1, -2, 1
  EXPECT_FLOAT_EQ(p[0], p[2]);
  EXPECT_NEAR(p[1] / p[0], std::exp(-3.0f), 1e-6f);
}

TEST(Sampler, RepetitionWindowForgetsOldTokens) {
  SamplerOptions options;
  options.repetition_penalty = 10;
  options.repetition_window = 2;
  Sampler sampler(options);
  for (const int32_t token : {0, 1, 2}) sampler.observe_prompt(token);
  EXPECT_EQ(*sampler.pick(std::vector<float>{3, 4, 5}), 0);
}

TEST(Sampler, PresenceAndFrequencyLookAtTheReplyAlone) {
  SamplerOptions options;
  options.presence_penalty = 1;
  options.frequency_penalty = 0.5f;
  Sampler sampler(options);
  sampler.observe_prompt(1);
  sampler.observe_reply(0);
  sampler.observe_reply(0);
  EXPECT_EQ(*sampler.pick(std::vector<float>{3, 1.5f}), 1);  // 3 - 1 - 2 * 0.5 = 1
  EXPECT_EQ(*sampler.pick(std::vector<float>{3.6f, 1.5f}), 0);
}

TEST(Sampler, BiasMovesAndBansTokens) {
  SamplerOptions options;
  options.logit_bias = {{0, -kInfinity}, {2, 5.0f}};
  EXPECT_EQ(draws(options, {9, 3, 2}, 1), std::vector<int32_t>{2});
  options.logit_bias = {{0, -kInfinity}, {1, -kInfinity}};
  Sampler sampler(options);
  const auto picked = sampler.pick(std::vector<float>{1, 2});
  ASSERT_FALSE(picked.has_value());
  EXPECT_EQ(picked.error().message, "sampling: every token is banned");
}

TEST(Sampler, TopKKeepsTiesAtTheKth) {
  SamplerOptions options;
  options.temperature = 1.0f;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{0, 3, 1, 2, 1, kNone, 1, -1};
  const auto kept = [&](size_t k) {
    options.top_k = k;
    const auto p = probabilities(options, logits);
    std::vector<int> ids;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] > 0) ids.push_back(static_cast<int>(i));
    }
    return ids;
  };
  EXPECT_EQ(kept(2), (std::vector<int>{1, 3}));
  EXPECT_EQ(kept(3), (std::vector<int>{1, 2, 3, 4, 6}));
  EXPECT_EQ(kept(5), (std::vector<int>{1, 2, 3, 4, 6}));
  EXPECT_EQ(kept(6), (std::vector<int>{0, 1, 2, 3, 4, 6}));
  for (const size_t all : {0u, 7u, 8u, 100u})
    EXPECT_EQ(kept(all), (std::vector<int>{0, 1, 2, 3, 4, 6, 7})) << all;
}

TEST(Sampler, BansWhatTheMaskLeavesOutBeforeAnythingElse) {
  const std::vector<float> logits{9, 3, 8, 2};
  const std::vector<uint64_t> allowed{0b1010};
  EXPECT_EQ(*Sampler({}).pick(logits, allowed), 1);
  SamplerOptions options;
  options.temperature = 1.0f;
  options.top_k = 2;  // of those that are left
  options.logit_bias = {{0, 50.0f}, {3, 3.0f}};
  Sampler sampler(options);
  sampler.observe_prompt(0);
  bool seen[4] = {};
  for (size_t i = 0; i < 100; ++i) seen[static_cast<size_t>(*sampler.pick(logits, allowed))] = true;
  EXPECT_EQ(std::vector<bool>(seen, seen + 4), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(sampler.step(), 100u);
  EXPECT_FALSE(sampler.pick(logits, std::vector<uint64_t>{0}).has_value());
}

TEST(Sampler, AMaskThatAllowsAllChangesNoDraw) {
  SamplerOptions options;
  options.temperature = 1.0f;
  Sampler masked(options);
  Sampler plain(options);
  const std::vector<float> logits{1, 2, 1.5f};
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(*masked.pick(logits, std::vector<uint64_t>{0b111}), *plain.pick(logits));
  }
}

TEST(SamplerOptions, AreValidatedByName) {
  const auto message = [](void (*change)(SamplerOptions&)) {
    SamplerOptions options;
    change(options);
    const Status status = validate_sampler_options(options, 10);
    return status ? "accepted" : status.error().message;
  };
  EXPECT_EQ(message([](SamplerOptions&) {}), "accepted");
  EXPECT_EQ(message([](SamplerOptions& o) { o.temperature = -1; }),
            "sampling: temperature: got -1, expected 0 to 100");
  EXPECT_EQ(message([](SamplerOptions& o) { o.top_p = 0; }),
            "sampling: top_p: got 0, expected above 0, at most 1");
  EXPECT_EQ(message([](SamplerOptions& o) { o.min_p = 2; }),
            "sampling: min_p: got 2, expected 0 to 1");
  EXPECT_NE(message([](SamplerOptions& o) { o.temperature = std::nanf(""); }), "accepted");
  EXPECT_EQ(message([](SamplerOptions& o) { o.repetition_penalty = 0; }),
            "sampling: repetition_penalty: got 0, expected above 0, at most 100");
  EXPECT_EQ(message([](SamplerOptions& o) {
              o.logit_bias = {{10, 1.0f}};
            }),
            "sampling: logit_bias: token: got 10, expected 0 to 9");
  EXPECT_NE(message([](SamplerOptions& o) { o.logit_bias = {{1, kInfinity}}; }), "accepted");
}

}  // namespace
}  // namespace rill::session
