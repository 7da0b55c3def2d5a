// SPDX-License-Identifier: Apache-2.0
#include "text/bpe.h"

#include <gtest/gtest.h>

#include <string>

#include "text/added_tokens.h"

namespace rill::text {
namespace {

using Ids = std::vector<int32_t>;

/// a b c, then the results of the merges "b c", "a a", "a bc", "aa a" in rank order.
class BpeEncoderTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* entries[] = {"a", "b", "c", "bc", "aa", "abc", "aaa"};
    for (int32_t id = 0; id < 7; ++id)
      ASSERT_TRUE(vocabulary_.add(id, entries[id], TokenKind::kNormal));
    ASSERT_TRUE(merges_.add(vocabulary_, "b", "c"));
    ASSERT_TRUE(merges_.add(vocabulary_, "a", "a"));
    ASSERT_TRUE(merges_.add(vocabulary_, "a", "bc"));
    ASSERT_TRUE(merges_.add(vocabulary_, "aa", "a"));
  }

  Ids encode(std::string_view piece) {
    Ids ids;
    BpeEncoder(vocabulary_, merges_).encode(piece, ids);
    return ids;
  }

  Vocabulary vocabulary_ = Vocabulary(7);
  MergeTable merges_;
};

TEST_F(BpeEncoderTest, LowestRankFirstThenLeftmost) {
  EXPECT_EQ(encode(""), Ids{});
  EXPECT_EQ(encode("a"), (Ids{0}));
  EXPECT_EQ(encode("aaaa"), (Ids{4, 4}));
  EXPECT_EQ(encode("aaaaa"), (Ids{4, 6}));  // aa aa a, then the last two join
  EXPECT_EQ(encode("abc"), (Ids{5}));
  EXPECT_EQ(encode("aabc"), (Ids{4, 3}));  // a a before a bc
  EXPECT_EQ(encode("bcabcb"), (Ids{3, 5, 1}));
}

TEST_F(BpeEncoderTest, ReusesItsMemoryBetweenPieces) {
  BpeEncoder bpe(vocabulary_, merges_);
  Ids ids;
  bpe.encode("aaaaaaa", ids);
  ids.clear();
  bpe.encode("abc", ids);
  EXPECT_EQ(ids, (Ids{5}));
}

TEST_F(BpeEncoderTest, MergesNeedTheirParts) {
  EXPECT_FALSE(merges_.add(vocabulary_, "x", "a"));
  EXPECT_FALSE(merges_.add(vocabulary_, "a", "x"));
  EXPECT_FALSE(merges_.add(vocabulary_, "c", "c"));
  EXPECT_FALSE(merges_.add(vocabulary_, "b", "c"));
  EXPECT_EQ(merges_.size(), 4u);
}

TEST(AddedTokens, LeftmostThenLongest) {
  AddedTokens tokens;
  ASSERT_TRUE(tokens.add("<a>", 1));
  ASSERT_TRUE(tokens.add("<a><b>", 2));
  ASSERT_TRUE(tokens.add("><", 3));
  const auto at = [&](std::string_view text, size_t from) { return tokens.find(text, from); };
  EXPECT_EQ(at("x<a><b>", 0)->id, 2);
  EXPECT_EQ(at("x<a><c>", 0)->id, 1);
  EXPECT_EQ(at("x<a><c>", 2)->id, 3);
  EXPECT_EQ(at("x<a><c>", 2)->begin, 3u);
  EXPECT_FALSE(at("<A>", 0));
  EXPECT_FALSE(at("<a", 0));
  EXPECT_FALSE(at("", 0));
}

TEST(AddedTokens, RefusesEmptyAndHugeTexts) {
  AddedTokens tokens;
  EXPECT_FALSE(tokens.add("", 1));
  EXPECT_TRUE(tokens.add(std::string(AddedTokens::kMaxBytes, 'a'), 1));
  EXPECT_FALSE(tokens.add(std::string(AddedTokens::kMaxBytes + 1, 'b'), 2));
}

}  // namespace
}  // namespace rill::text
