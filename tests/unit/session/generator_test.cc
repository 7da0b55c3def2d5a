// SPDX-License-Identifier: Apache-2.0
#include "session/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "unit/model/lfm2_support.h"
#include "unit/session/count_allocations.h"

namespace rill::session {
namespace {

using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

/// A tiny model with a prompt of six tokens.
struct Prompted {
  explicit Prompted(TinySpec spec = {}) : tiny(spec, compute) {
    auto created = Sequence::create(*tiny.backbone, DType::kF16);
    RILL_CHECK(created.has_value(), "sequence");
    sequence = std::make_unique<Sequence>(std::move(created).value());
    RILL_CHECK(sequence->append_tokens(compute.context, some_tokens(6, 64)).has_value(), "prompt");
  }
  Reply run(const GenerateOptions& options) {
    auto reply = generate(compute.context, *sequence, options);
    RILL_CHECK(reply.has_value(), "reply");
    return std::move(reply).value();
  }
  Compute compute;
  LoadedTiny tiny;
  std::unique_ptr<Sequence> sequence;
};

TEST(Generator, StopsAfterMaxTokens) {
  Prompted p;
  GenerateOptions options;
  options.max_tokens = 9;
  const Reply reply = p.run(options);
  EXPECT_EQ(reply.tokens.size(), 9u);
  EXPECT_EQ(reply.stop_reason, StopReason::kMaxTokens);
  EXPECT_EQ(p.sequence->position(), 6u + 8u);  // the last token has not been asked about
}

TEST(Generator, NoTokensWhenNoneAreAllowed) {
  Prompted p;
  GenerateOptions options;
  options.max_tokens = 0;
  EXPECT_EQ(p.run(options).tokens.size(), 0u);
  EXPECT_EQ(p.sequence->position(), 6u);
}

TEST(Generator, LeavesTheStopTokenOut) {
  Prompted first;
  GenerateOptions options;
  options.max_tokens = 9;
  const Reply all = first.run(options);
  Prompted second;
  options.stop_ids = {all.tokens[5]};
  const Reply cut = second.run(options);
  EXPECT_EQ(cut.stop_reason, StopReason::kStopToken);
  const auto first_stop = std::find(all.tokens.begin(), all.tokens.end(), all.tokens[5]);
  EXPECT_EQ(cut.tokens, std::vector<int32_t>(all.tokens.begin(), first_stop));
}

TEST(Generator, MaxTokensNeverChangesEarlierTokens) {
  Prompted a;
  Prompted b;
  GenerateOptions options;
  options.sampler.temperature = 1.0f;
  options.sampler.seed = 3;
  options.max_tokens = 20;
  const Reply longer = a.run(options);
  options.max_tokens = 8;
  const Reply shorter = b.run(options);
  EXPECT_EQ(shorter.tokens, std::vector<int32_t>(longer.tokens.begin(), longer.tokens.begin() + 8));
}

TEST(Generator, EndsWhenTheContextIsFull) {
  TinySpec spec;
  spec.context = 10;
  Prompted p(spec);
  const Reply reply = p.run({});
  EXPECT_EQ(reply.stop_reason, StopReason::kContextFull);
  EXPECT_EQ(reply.tokens.size(),
            5u);  // four that entered the sequence, and what the last one led to
  EXPECT_EQ(p.sequence->room(), 0u);
}

TEST(Generator, StopsWhenCancelledAndLeavesTheSequenceUsable) {
  Prompted p;
  std::atomic<bool> cancel = false;
  GenerateOptions options;
  options.cancel = &cancel;
  Generator generator(*p.sequence, options);
  const auto token = generator.next(p.compute.context);
  ASSERT_TRUE(token.has_value() && token->has_value());
  cancel = true;
  const auto none = generator.next(p.compute.context);
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->has_value());
  EXPECT_EQ(generator.stop_reason(), StopReason::kCancelled);
  EXPECT_EQ(generator.pending(), **token);
  EXPECT_TRUE(p.sequence->append_token(p.compute.context, generator.pending()).has_value());
}

TEST(Generator, DecodeStepsDoNotAllocate) {
  TinySpec spec;
  spec.experts = 4;
  spec.context = 600;
  Prompted p(spec);
  GenerateOptions options;
  options.max_tokens = 300;
  ASSERT_TRUE(p.sequence->reserve(400));
  Generator generator(*p.sequence, options);
  const auto step = [&] {
    const auto token = generator.next(p.compute.context);
    EXPECT_TRUE(token.has_value() && token->has_value());
  };
  for (int i = 0; i < 3; ++i) step();
  const size_t before = test::num_allocations();
  const size_t scratch = p.compute.arena.reserved_bytes();
  const size_t state = p.sequence->state().memory_bytes();
  for (int i = 0; i < 290; ++i) step();
  EXPECT_EQ(test::num_allocations(), before);
  EXPECT_EQ(p.compute.arena.reserved_bytes(), scratch);
  EXPECT_EQ(p.sequence->state().memory_bytes(), state);
}

TEST(StopReason, HasANameForEach) {
  EXPECT_EQ(stop_reason_name(StopReason::kStopToken), "stop_token");
  EXPECT_EQ(stop_reason_name(StopReason::kMaxTokens), "max_tokens");
  EXPECT_EQ(stop_reason_name(StopReason::kContextFull), "context_full");
  EXPECT_EQ(stop_reason_name(StopReason::kCancelled), "cancelled");
}

/// Ids from `first` on, each one more than the last, and at last the stop id 63.
class Counting final : public TokenConstraint {
 public:
  Counting(int32_t first, int32_t last) : next_(first), last_(last) {}
  Status allowed(std::span<uint64_t> words) override {
    std::fill(words.begin(), words.end(), 0);
    words[0] = uint64_t{1} << (next_ > last_ ? 63 : next_);
    return {};
  }
  Status accept(int32_t token) override {
    if (token != next_) return Error{ErrorCode::kInvalidArgument, "not the next"};
    ++next_;
    return {};
  }

 private:
  int32_t next_;
  int32_t last_;
};

TEST(Generator, FollowsAConstraintThatIsSetBetweenCalls) {
  Prompted p;
  GenerateOptions options;
  options.max_tokens = 20;
  options.stop_ids = {63};
  options.sampler.logit_bias = {{63, -1000.0f}};  // not before the constraint says so
  Generator generator(*p.sequence, options);
  ASSERT_TRUE(generator.next(p.compute.context)->has_value());
  Counting counting(40, 43);
  generator.set_constraint(&counting);
  for (int32_t id = 40; id <= 43; ++id) EXPECT_EQ(**generator.next(p.compute.context), id);
  EXPECT_FALSE(generator.next(p.compute.context)->has_value());
  EXPECT_EQ(generator.stop_reason(), StopReason::kStopToken);
  EXPECT_EQ(generator.num_tokens(), 5u);
}

}  // namespace
}  // namespace rill::session
