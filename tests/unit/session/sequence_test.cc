// SPDX-License-Identifier: Apache-2.0
#include "session/sequence.h"

#include <gtest/gtest.h>

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
  sequence.truncate(mark);
  EXPECT_EQ(sequence.position(), 30u);
  EXPECT_EQ(logits(sequence), want);
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
