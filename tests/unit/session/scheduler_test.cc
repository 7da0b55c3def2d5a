// SPDX-License-Identifier: Apache-2.0
#include "session/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "unit/model/lfm2_support.h"
#include "unit/session/count_allocations.h"

namespace rill::session {
namespace {

using lfm2_test::Backbone;
using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

using Tokens = std::vector<int32_t>;

/// One request and what it gives alone.
struct Work {
  Tokens prompt;
  GenerateOptions options;
  size_t joins_at = 0;  // step
};

struct Outcome {
  Tokens tokens;
  StopReason stop_reason = StopReason::kNone;
  std::optional<Error> error;
  std::vector<float> hidden;  // of the last step
  ContentHash content = {};
  bool operator==(const Outcome& other) const {
    return tokens == other.tokens && stop_reason == other.stop_reason &&
           error.has_value() == other.error.has_value() && hidden == other.hidden &&
           content == other.content;
  }
};

std::vector<StepInput> as_steps(const Tokens& tokens) {
  std::vector<StepInput> steps;
  for (const int32_t token : tokens) steps.push_back(StepInput::of_token(token));
  return steps;
}

Sequence make(const Backbone& backbone) {
  auto created = Sequence::create(backbone, DType::kF16);
  RILL_CHECK(created.has_value(), "sequence");
  return std::move(created).value();
}

Outcome alone(Compute& compute, const Backbone& backbone, const Work& work) {
  Outcome out;
  Sequence sequence = make(backbone);
  EXPECT_TRUE(sequence.append_tokens(compute.context, work.prompt));
  Generator generator(sequence, work.options);
  generator.observe_prompt(work.prompt);
  while (true) {
    const auto token = generator.next(compute.context);
    RILL_CHECK(token.has_value(), "token");
    if (!token->has_value()) break;
    out.tokens.push_back(**token);
  }
  out.stop_reason = generator.stop_reason();
  out.hidden.assign(sequence.hidden().begin(), sequence.hidden().end());
  out.content = sequence.content();
  return out;
}

/// Runs all works in one scheduler; cancel_at ends a work after that many tokens (0: never).
std::vector<Outcome> together(Compute& compute, const Backbone& backbone,
                              const std::vector<Work>& works, SchedulerOptions options = {},
                              size_t cancelled = 99, size_t cancel_after = 0) {
  Scheduler scheduler(backbone, options);
  std::vector<Outcome> outcomes(works.size());
  std::map<Scheduler::Id, size_t> index;
  size_t added = 0;
  for (size_t step = 0; added < works.size() || !scheduler.idle(); ++step) {
    for (size_t i = 0; i < works.size(); ++i) {
      if (works[i].joins_at != step) continue;
      ScheduledRequest request = {make(backbone), as_steps(works[i].prompt), works[i].options};
      request.observed = works[i].prompt;
      const auto id = scheduler.add(std::move(request));
      RILL_CHECK(id.has_value(), "add");
      index[*id] = i;
      ++added;
    }
    for (const Scheduler::Event& event : scheduler.step(compute.context)) {
      const size_t i = index.at(event.id);
      Outcome& outcome = outcomes[i];
      if (event.token) outcome.tokens.push_back(*event.token);
      if (i == cancelled && outcome.tokens.size() == cancel_after && !event.is_last()) {
        EXPECT_TRUE(scheduler.cancel(event.id));
      }
      if (!event.is_last()) continue;
      outcome.stop_reason = event.stop_reason;
      outcome.error = event.error;
      const auto finished = scheduler.take(event.id);
      RILL_CHECK(finished.has_value(), "take");
      const auto hidden = finished->sequence.hidden();
      outcome.hidden.assign(hidden.begin(), hidden.end());
      outcome.content = finished->sequence.content();
    }
  }
  return outcomes;
}

/// Eight requests of unequal length, sampling and start.
std::vector<Work> mixed_works() {
  std::vector<Work> works(8);
  const size_t lengths[] = {1, 300, 2, 40, 7, 260, 90, 3};
  for (size_t i = 0; i < works.size(); ++i) {
    Work& work = works[i];
    work.prompt = some_tokens(lengths[i], 64, 10 + i);
    work.joins_at = (i * 5) % 11;
    work.options.max_tokens = 5 + 3 * i;
    if (i % 2 == 1) {
      work.options.sampler.temperature = 0.9f;
      work.options.sampler.seed = i;
      work.options.sampler.repetition_penalty = 1.2f;
    }
  }
  works[4].options.stop_ids = {1, 5, 9, 13, 17, 21, 25, 29};
  return works;
}

void expect_equal_bits(Compute& compute, const Backbone& backbone, SchedulerOptions options = {}) {
  const std::vector<Work> works = mixed_works();
  for (const size_t count : {2, 5, 8}) {
    const std::vector<Work> some(works.begin(), works.begin() + static_cast<std::ptrdiff_t>(count));
    const auto outcomes = together(compute, backbone, some, options);
    for (size_t i = 0; i < count; ++i)
      EXPECT_TRUE(outcomes[i] == alone(compute, backbone, some[i])) << i << " of " << count;
  }
}

TEST(Scheduler, GivesEachSequenceItsOwnBits) {
  Compute compute;
  for (const bool q8_0 : {false, true}) {
    for (const uint32_t experts : {0u, 4u}) {
      TinySpec spec;
      spec.q8_0 = q8_0;
      spec.experts = experts;
      const LoadedTiny tiny(spec, compute);
      expect_equal_bits(compute, *tiny.backbone);
    }
  }
}

TEST(Scheduler, NeitherLimitChangesABit) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  expect_equal_bits(compute, *tiny.backbone, {.max_active = 3, .prompt_steps = 5});
  expect_equal_bits(compute, *tiny.backbone, {.max_active = 1, .prompt_steps = 1});
}

TEST(Scheduler, ACancelledReplyLeavesTheOthersAlone) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  const std::vector<Work> works = mixed_works();
  const auto outcomes = together(compute, *tiny.backbone, works, {}, 3, 4);
  for (size_t i = 0; i < works.size(); ++i) {
    const Outcome want = alone(compute, *tiny.backbone, works[i]);
    if (i != 3) {
      EXPECT_TRUE(outcomes[i] == want) << i;
      continue;
    }
    EXPECT_EQ(outcomes[i].stop_reason, StopReason::kCancelled);
    EXPECT_EQ(outcomes[i].tokens, Tokens(want.tokens.begin(), want.tokens.begin() + 4));
  }
}

TEST(Scheduler, AFullContextEndsOneReplyOnly) {
  Compute compute;
  TinySpec spec;
  spec.context = 50;
  const LoadedTiny tiny(spec, compute);
  std::vector<Work> works(3);
  const size_t lengths[] = {45, 3, 20};
  for (size_t i = 0; i < 3; ++i) works[i] = {some_tokens(lengths[i], 64, i), {}, i};
  works[1].options.max_tokens = 30;
  const auto outcomes = together(compute, *tiny.backbone, works);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(outcomes[i] == alone(compute, *tiny.backbone, works[i])) << i;
  EXPECT_EQ(outcomes[0].stop_reason, StopReason::kContextFull);
  EXPECT_EQ(outcomes[0].tokens.size(), 6u);
  EXPECT_EQ(outcomes[1].stop_reason, StopReason::kMaxTokens);
}

TEST(Scheduler, AnErrorConcernsItsSequenceOnly) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  const std::vector<float> row(32, HUGE_VALF);
  for (const StepInput& bad : {StepInput::of_row(row), StepInput::of_token(64)}) {
    Scheduler scheduler(*tiny.backbone);
    Work work = {some_tokens(30, 64), {}, 0};
    work.options.max_tokens = 12;
    const auto good = scheduler.add({make(*tiny.backbone), as_steps(work.prompt), work.options});
    std::vector<StepInput> steps = as_steps(some_tokens(9, 64));
    steps.push_back(bad);
    const auto faulty = scheduler.add({make(*tiny.backbone), steps, work.options});
    ASSERT_TRUE(good.has_value() && faulty.has_value());
    Outcome outcome;
    size_t errors = 0;
    while (!scheduler.idle()) {
      for (const Scheduler::Event& event : scheduler.step(compute.context)) {
        if (event.id == *good) {
          if (event.token) outcome.tokens.push_back(*event.token);
          EXPECT_FALSE(event.error.has_value());
          continue;
        }
        ASSERT_TRUE(event.error.has_value());
        EXPECT_EQ(event.error->code,
                  bad.is_token() ? ErrorCode::kInvalidArgument : ErrorCode::kInternal);
        ++errors;
      }
    }
    EXPECT_EQ(errors, 1u);
    EXPECT_EQ(outcome.tokens, alone(compute, *tiny.backbone, work).tokens);
    EXPECT_TRUE(scheduler.take(*faulty)->error.has_value());
  }
}

TEST(Scheduler, ShortPromptsDoNotWaitForLongOnes) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  Scheduler scheduler(*tiny.backbone, {.max_active = 8, .prompt_steps = 20});
  GenerateOptions options;
  options.max_tokens = 100;
  const auto add = [&](size_t length) {
    return *scheduler.add({make(*tiny.backbone), as_steps(some_tokens(length, 64)), options});
  };
  (void)add(1);  // makes tokens all the time
  (void)scheduler.step(compute.context);
  (void)add(1000);
  (void)add(1000);
  for (int i = 0; i < 3; ++i) (void)scheduler.step(compute.context);
  const Scheduler::Id small = add(12);
  size_t steps = 0;
  for (bool started = false; !started; ++steps) {
    size_t tokens = 0;
    for (const Scheduler::Event& event : scheduler.step(compute.context)) {
      ++tokens;
      if (event.id == small) started = true;
    }
    EXPECT_GE(tokens, 1u);  // the first reply goes on in every step
    ASSERT_LT(steps, 10u);
  }
  EXPECT_EQ(steps, 2u);  // a third of 20 in each
}

TEST(Scheduler, StartsFromWhatTheCacheHas) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  PrefixCache cache(4);
  const SchedulerOptions options = {.max_active = 4, .prompt_steps = 100, .cache = &cache};
  const Tokens system = some_tokens(700, 64, 1);
  Tokens second_turn;
  for (const size_t want : {size_t{0}, size_t{512}, size_t{0}}) {
    Work work = {system, {}, 0};
    work.options.max_tokens = 9;
    const Tokens question = some_tokens(20 + want, 64, 2 + want);
    work.prompt.insert(work.prompt.end(), question.begin(), question.end());
    if (!second_turn.empty() && want == 0) work.prompt = second_turn;
    const Outcome alone_outcome = alone(compute, *tiny.backbone, work);
    Scheduler scheduler(*tiny.backbone, options);
    // Another one that runs beside it.
    (void)scheduler.add({make(*tiny.backbone), as_steps(some_tokens(2, 64)), work.options});
    const auto id = scheduler.add({make(*tiny.backbone), as_steps(work.prompt), work.options});
    ASSERT_TRUE(id.has_value());
    Tokens tokens;
    while (!scheduler.idle()) {
      for (const Scheduler::Event& event : scheduler.step(compute.context)) {
        if (event.id == *id && event.token) tokens.push_back(*event.token);
      }
    }
    EXPECT_EQ(tokens, alone_outcome.tokens);
    const auto finished = scheduler.take(*id);
    ASSERT_TRUE(finished.has_value());
    EXPECT_EQ(finished->cached_steps, work.prompt == second_turn ? second_turn.size() - 3 : want);
    EXPECT_EQ(finished->sequence.content(), alone_outcome.content);
    second_turn = work.prompt;
    second_turn.insert(second_turn.end(), tokens.begin(), tokens.end());
    second_turn.resize(finished->sequence.position());
    for (const int32_t token : {1, 2, 3}) second_turn.push_back(token);
    if (want == 0) second_turn.clear();
  }
}

TEST(Scheduler, ContinuesASequenceThatHoldsItsPrompt) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  Work work = {some_tokens(30, 64), {}, 0};
  work.options.max_tokens = 8;
  Sequence sequence = make(*tiny.backbone);
  ASSERT_TRUE(sequence.append_tokens(compute.context, work.prompt));
  Scheduler scheduler(*tiny.backbone);
  ASSERT_TRUE(scheduler.add({std::move(sequence), {}, work.options}));
  Tokens tokens;
  while (!scheduler.idle()) {
    for (const Scheduler::Event& event : scheduler.step(compute.context)) {
      if (event.token) tokens.push_back(*event.token);
    }
  }
  EXPECT_EQ(tokens, alone(compute, *tiny.backbone, work).tokens);
}

TEST(Scheduler, RefusesWhatCannotRun) {
  Compute compute;
  TinySpec spec;
  spec.context = 50;
  const LoadedTiny tiny(spec, compute);
  const LoadedTiny other({}, compute);
  Scheduler scheduler(*tiny.backbone);
  const auto code = [&](ScheduledRequest request) {
    const auto id = scheduler.add(std::move(request));
    return id ? ErrorCode::kBusy : id.error().code;
  };
  EXPECT_EQ(code({make(*other.backbone), as_steps({1}), {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({make(*tiny.backbone), {}, {}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({make(*tiny.backbone), as_steps(some_tokens(51, 64)), {}}),
            ErrorCode::kContextFull);
  EXPECT_TRUE(scheduler.idle());
  EXPECT_EQ(scheduler.cancel(7).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(scheduler.take(7).error().code, ErrorCode::kNotFound);
  const auto id = scheduler.add({make(*tiny.backbone), as_steps({1}), {}});
  EXPECT_EQ(scheduler.take(*id).error().code, ErrorCode::kBusy);
}

TEST(Scheduler, EndsRequestsThatAreCancelledBeforeTheyStart) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  Scheduler scheduler(*tiny.backbone, {.max_active = 1});
  GenerateOptions options;
  const std::atomic<bool> cancel = true;
  (void)scheduler.add({make(*tiny.backbone), as_steps(some_tokens(5, 64)), options});
  options.cancel = &cancel;
  const auto waiting = scheduler.add({make(*tiny.backbone), as_steps({1}), options});
  size_t ended = 0;
  for (const Scheduler::Event& event : scheduler.step(compute.context)) {
    if (event.id == *waiting && event.stop_reason == StopReason::kCancelled) ++ended;
  }
  EXPECT_EQ(ended, 1u);
  EXPECT_EQ(scheduler.num_waiting(), 0u);
  EXPECT_EQ(scheduler.num_active(), 1u);
}

TEST(Scheduler, StepsOfRepliesDoNotAllocate) {
  Compute compute;
  const LoadedTiny tiny({}, compute);
  Scheduler scheduler(*tiny.backbone);
  GenerateOptions options;
  options.max_tokens = 1000;
  for (uint64_t i = 0; i < 4; ++i) {
    Sequence sequence = make(*tiny.backbone);
    ASSERT_TRUE(sequence.reserve(500));
    ASSERT_TRUE(scheduler.add({std::move(sequence), as_steps(some_tokens(3 + i, 64)), options}));
  }
  for (int i = 0; i < 4; ++i) (void)scheduler.step(compute.context);
  const size_t before = test::num_allocations();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(scheduler.step(compute.context).size(), 4u);
  EXPECT_EQ(test::num_allocations(), before);
}

}  // namespace
}  // namespace rill::session
