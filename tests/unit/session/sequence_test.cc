// SPDX-License-Identifier: Apache-2.0
#include "session/sequence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/model/lfm2_support.h"

namespace rill::session {
namespace {

using lfm2_test::Compute;
using lfm2_test::LoadedTiny;
using lfm2_test::some_tokens;
using lfm2_test::TinySpec;

class SequenceTest : public testing::Test {
 protected:
  Sequence make() {
    auto created = Sequence::create(*tiny_.backbone, DType::kF32);
    RILL_CHECK(created.has_value(), "sequence");
    return std::move(created).value();
  }
  std::vector<float> logits(Sequence& sequence) {
    const auto values = sequence.logits(compute_.context);
    EXPECT_TRUE(values.has_value());
    return values ? std::vector<float>(values->begin(), values->end()) : std::vector<float>();
  }
  void append(Sequence& sequence, std::span<const int32_t> tokens) {
    const Status done = sequence.append_tokens(compute_.context, tokens);
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  }

  Compute compute_;
  LoadedTiny tiny_{TinySpec{.context = 700}, compute_};
};

TEST_F(SequenceTest, AnyCutGivesTheSameLogits) {
  const auto tokens = some_tokens(600, 64);
  Sequence whole = make();
  append(whole, tokens);
  const auto want = logits(whole);
  for (const size_t piece : {1, 5, 512, 599}) {
    Sequence sequence = make();
    for (size_t first = 0; first < tokens.size(); first += piece) {
      append(sequence, std::span(tokens).subspan(first, std::min(piece, tokens.size() - first)));
    }
    EXPECT_EQ(logits(sequence), want) << "pieces of " << piece;
  }
}

TEST_F(SequenceTest, AnEmbeddingRowIsTheSameAsItsToken) {
  const auto tokens = some_tokens(6, 64);
  Sequence by_token = make();
  append(by_token, tokens);
  std::vector<std::vector<float>> rows(tokens.size(), std::vector<float>(32));
  std::vector<StepInput> steps;
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(tiny_.backbone->embed(tokens[i], rows[i]));
    steps.push_back(i % 2 == 0 ? StepInput::of_row(rows[i]) : StepInput::of_token(tokens[i]));
  }
  Sequence mixed = make();
  ASSERT_TRUE(mixed.append(compute_.context, steps));
  EXPECT_EQ(logits(mixed), logits(by_token));
}

TEST_F(SequenceTest, RefusesWrongStepsWithoutAppendingAny) {
  Sequence sequence = make();
  const std::vector<int32_t> bad_token = {1, 2, 64};
  const Status token = sequence.append_tokens(compute_.context, bad_token);
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().message, "append to sequence: token id: got 64, expected 0 to 63");
  const std::vector<float> short_row(31);
  const StepInput step = StepInput::of_row(short_row);
  const Status row = sequence.append(compute_.context, {&step, 1});
  ASSERT_FALSE(row.has_value());
  EXPECT_EQ(row.error().message, "append to sequence: embedding row: got 31 values, expected 32");
  EXPECT_EQ(sequence.position(), 0u);
}

TEST_F(SequenceTest, RefusesAPromptThatDoesNotFit) {
  Sequence sequence = make();
  append(sequence, some_tokens(690, 64));
  EXPECT_EQ(sequence.room(), 10u);
  const Status status = sequence.append_tokens(compute_.context, some_tokens(11, 64));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kContextFull);
  EXPECT_EQ(status.error().message,
            "append to sequence: got 11 steps after 690, expected at most 700 in all");
  append(sequence, some_tokens(10, 64));
  EXPECT_EQ(sequence.room(), 0u);
}

TEST_F(SequenceTest, StopsBetweenPiecesWhenCancelled) {
  Sequence sequence = make();
  const std::atomic<bool> cancel = true;
  const Status status = sequence.append_tokens(compute_.context, some_tokens(5, 64), &cancel);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

TEST_F(SequenceTest, TruncationToAMarkRestoresTheLogits) {
  Sequence sequence = make();
  append(sequence, some_tokens(30, 64));
  const auto want = logits(sequence);
  const Sequence::Mark mark = sequence.mark();
  append(sequence, some_tokens(9, 64, 3));
  ASSERT_TRUE(sequence.truncate(mark));
  EXPECT_EQ(sequence.position(), 30u);
  EXPECT_EQ(logits(sequence), want);
}

TEST_F(SequenceTest, RefusesMarksThatAreNotOfItsPast) {
  Sequence sequence = make();
  append(sequence, some_tokens(300, 64));
  const Sequence::Mark mark = sequence.mark();
  Sequence shorter = make();
  append(shorter, some_tokens(30, 64));
  const Status beyond = shorter.truncate(mark);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().message, "truncate sequence: position: got 300, expected at most 30");
  Sequence other = make();
  append(other, some_tokens(400, 64, 5));
  const Status foreign = other.truncate(mark);
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error().message,
            "truncate sequence: mark at position 300: got one of another sequence, expected one of "
            "this sequence's past");
  EXPECT_EQ(other.position(), 400u);
}

TEST_F(SequenceTest, GoesBackToItsCheckpoints) {
  const auto tokens = some_tokens(290, 64);
  Sequence sequence = make();
  std::vector<std::vector<float>> want;
  for (size_t first = 0; first < 290; first += 145) {
    append(sequence, std::span(tokens).subspan(first, 145));
    want.push_back(logits(sequence));
    ASSERT_TRUE(sequence.keep_checkpoint());
  }
  append(sequence, some_tokens(9, 64, 3));
  EXPECT_EQ(sequence.checkpoints(), (std::vector<size_t>{145, 290}));
  ASSERT_TRUE(sequence.truncate_to(290));
  EXPECT_EQ(logits(sequence), want[1]);
  ASSERT_TRUE(sequence.truncate_to(145));
  EXPECT_EQ(logits(sequence), want[0]);
  EXPECT_EQ(sequence.checkpoints(), std::vector<size_t>{145});  // the later one is gone
  append(sequence, std::span(tokens).subspan(145));
  EXPECT_EQ(logits(sequence), want[1]);
}

TEST_F(SequenceTest, RefusesToGoWhereNoCheckpointIs) {
  Sequence sequence = make();
  append(sequence, some_tokens(20, 64));
  ASSERT_TRUE(sequence.keep_checkpoint());
  append(sequence, some_tokens(10, 64));
  const Status between = sequence.truncate_to(25);
  ASSERT_FALSE(between.has_value());
  EXPECT_EQ(between.error().message,
            "truncate sequence: position: got 25, expected one with a checkpoint: 0, 20");
  const Status beyond = sequence.truncate_to(31);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().message, "truncate sequence: position: got 31, expected at most 30");
  EXPECT_EQ(sequence.position(), 30u);
}

TEST_F(SequenceTest, ResetGivesTheBitsOfANewOne) {
  Sequence sequence = make();
  append(sequence, some_tokens(300, 64, 3));
  sequence.reset();
  EXPECT_EQ(sequence.position(), 0u);
  EXPECT_EQ(sequence.state().num_blocks(), 0u);
  EXPECT_TRUE(sequence.hidden().empty());
  EXPECT_FALSE(sequence.logits(compute_.context).has_value());
  append(sequence, some_tokens(9, 64));
  Sequence fresh = make();
  append(fresh, some_tokens(9, 64));
  EXPECT_EQ(logits(sequence), logits(fresh));
  EXPECT_EQ(sequence.content(), fresh.content());
}

/// A row that makes the hidden state infinite.
std::vector<float> bad_row() { return std::vector<float>(32, HUGE_VALF); }

TEST_F(SequenceTest, IsNotUsableAfterAFailureUntilItGoesBack) {
  Sequence sequence = make();
  append(sequence, some_tokens(20, 64));
  ASSERT_TRUE(sequence.keep_checkpoint());
  const auto want = logits(sequence);
  const std::vector<float> row = bad_row();
  const StepInput bad = StepInput::of_row(row);
  const Status failed = sequence.append(compute_.context, {&bad, 1});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_FALSE(sequence.usable());
  const Status again = sequence.append_token(compute_.context, 1);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().message,
            "append to sequence: got a sequence whose last append failed or was cancelled, "
            "expected it to be truncated or reset first");
  EXPECT_FALSE(sequence.logits(compute_.context).has_value());
  EXPECT_FALSE(sequence.keep_checkpoint().has_value());
  ASSERT_TRUE(sequence.truncate_to(20));
  EXPECT_TRUE(sequence.usable());
  EXPECT_EQ(logits(sequence), want);
}

TEST_F(SequenceTest, SequencesTogetherGetTheirOwnBits) {
  const std::vector<std::vector<int32_t>> tokens = {some_tokens(1, 64, 3), some_tokens(40, 64, 4),
                                                    some_tokens(2, 64, 5)};
  std::vector<Sequence> alone;
  std::vector<Sequence> together;
  std::vector<std::vector<StepInput>> steps(3);
  std::vector<Sequence::Extension> extensions;
  for (size_t i = 0; i < 3; ++i) {
    alone.push_back(make());
    append(alone[i], tokens[i]);
    together.push_back(make());
    for (const int32_t token : tokens[i]) steps[i].push_back(StepInput::of_token(token));
  }
  for (size_t i = 0; i < 3; ++i) extensions.push_back({&together[i], steps[i]});
  ASSERT_TRUE(Sequence::append_together(compute_.context, extensions));
  const std::vector<Sequence*> pointers = {&together[0], &together[1], &together[2]};
  ASSERT_TRUE(Sequence::logits_together(compute_.context, pointers));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(logits(together[i]), logits(alone[i])) << i;
    EXPECT_EQ(together[i].content(), alone[i].content()) << i;
  }
}

TEST_F(SequenceTest, AFaultySequenceDoesNotTouchTheOthers) {
  Sequence good = make();
  Sequence faulty = make();
  Sequence alone = make();
  append(good, some_tokens(5, 64));
  append(alone, some_tokens(5, 64));
  append(alone, std::vector<int32_t>{7});
  const std::vector<float> row = bad_row();
  const StepInput bad = StepInput::of_row(row);
  const StepInput token = StepInput::of_token(7);
  const Sequence::Extension both[] = {{&faulty, {&bad, 1}}, {&good, {&token, 1}}};
  const Status status = Sequence::append_together(compute_.context, both);
  ASSERT_FALSE(status.has_value());
  EXPECT_FALSE(faulty.usable());
  ASSERT_TRUE(good.usable());
  EXPECT_EQ(logits(good), logits(alone));
}

TEST_F(SequenceTest, CloneContinuesOnItsOwn) {
  Sequence sequence = make();
  append(sequence, some_tokens(30, 64));
  Sequence copy = sequence.clone();
  EXPECT_EQ(logits(copy), logits(sequence));
  append(copy, some_tokens(3, 64, 4));
  append(sequence, some_tokens(3, 64, 5));
  EXPECT_NE(logits(copy), logits(sequence));
}

}  // namespace
}  // namespace rill::session
