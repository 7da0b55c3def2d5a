// SPDX-License-Identifier: Apache-2.0
#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>

#include "text/unicode.h"

namespace rill::text {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(SplitPieces, ContractionsIgnoreCaseAlsoForTheLongS) {
  EXPECT_EQ(split_pieces("DON'T we'LL I'Ve"), (Pieces{"DON", "'T", " we", "'LL", " I", "'Ve"}));
  EXPECT_EQ(split_pieces("it'\xC5\xBFx"), (Pieces{"it", "'\xC5\xBF", "x"}));
  EXPECT_EQ(split_pieces("'l"), (Pieces{"'l"}));
  EXPECT_EQ(split_pieces("'like"), (Pieces{"'like"}));
}

TEST(SplitPieces, NumbersInGroupsOfThree) {
  EXPECT_EQ(split_pieces("1234567"), (Pieces{"123", "456", "7"}));
  EXPECT_EQ(split_pieces("12,345.67"), (Pieces{"12", ",", "345", ".", "67"}));
  EXPECT_EQ(split_pieces("\xC2\xB2\xE2\x85\xA7"), (Pieces{"\xC2\xB2\xE2\x85\xA7"}));  // No and Nl
}

TEST(SplitPieces, WhiteSpaceRuns) {
  EXPECT_EQ(split_pieces("a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(split_pieces("x   "), (Pieces{"x", "   "}));
  EXPECT_EQ(split_pieces("a\n\n  \n b"), (Pieces{"a", "\n\n  \n", " b"}));
  EXPECT_EQ(split_pieces(" \t1"), (Pieces{" ", "\t", "1"}));
  EXPECT_EQ(split_pieces("\r\n\r\n"), (Pieces{"\r\n\r\n"}));
  EXPECT_EQ(split_pieces("!\n\n x"), (Pieces{"!\n\n", " x"}));
}

TEST(SplitPieces, OnlyASpaceJoinsSymbolsButAnySeparatorJoinsLetters) {
  EXPECT_EQ(split_pieces(" ! \t!"), (Pieces{" !", " ", "\t", "!"}));
  EXPECT_EQ(split_pieces("\tword\xC2\xA0word"), (Pieces{"\tword", "\xC2\xA0word"}));
}

TEST(IsKnownSplitRegex, AcceptsBothFormsOnly) {
  const std::string tail = R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)";
  EXPECT_TRUE(is_known_split_regex(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|)" + tail +
                                   R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"));
  EXPECT_TRUE(
      is_known_split_regex(R"('(?i:[sdmt]|ll|ve|re)|)" + tail + R"(|\s*[\r\n]|\s+(?!\S)|\s)"));
  EXPECT_FALSE(is_known_split_regex(tail));
}

TEST(Unicode, Classes) {
  EXPECT_TRUE(is_letter(U'a') && is_letter(0xE01) && is_letter(0x4E00) && is_letter(0x2EBF0));
  EXPECT_FALSE(is_letter(0x0301) || is_letter('1') || is_letter(0x10FFFF));
  EXPECT_TRUE(is_number('0') && is_number(0xB2) && is_number(0x2167) && is_number(0x0E51));
  EXPECT_TRUE(is_white_space(0x85) && is_white_space(0xA0) && is_white_space(0x3000) &&
              is_white_space(0x2028));
  EXPECT_FALSE(is_white_space(0x1C) || is_white_space(0x200B) || is_white_space(0xFEFF) ||
               is_white_space(0x180E));
}

}  // namespace
}  // namespace rill::text
