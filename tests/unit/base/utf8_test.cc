// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace rill {
namespace {

const std::string kMark = "\xef\xbf\xbd";

TEST(DecodeUtf8, ReadsOneToFourBytes) {
  EXPECT_EQ(decode_utf8("A").code_point, U'A');
  EXPECT_EQ(decode_utf8("\xc3\xa9").code_point, U'\u00e9');
  EXPECT_EQ(decode_utf8("\xe2\x82\xac").code_point, U'\u20ac');
  const Utf8Char face = decode_utf8("\xf0\x9f\x98\x80rest");
  EXPECT_EQ(face.code_point, U'\U0001F600');
  EXPECT_EQ(face.bytes, 4U);
  EXPECT_TRUE(face.valid);
  EXPECT_EQ(decode_utf8("").bytes, 0U);
}

TEST(DecodeUtf8, EveryCodePointRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    const Utf8Char back = decode_utf8(text);
    ASSERT_TRUE(back.valid && back.code_point == c && back.bytes == text.size())
        << std::hex << static_cast<uint32_t>(c);
  }
}

TEST(DecodeUtf8, MaximalSubpartsAreReplacedOneByOne) {
  EXPECT_EQ(to_valid_utf8("\xc0\xaf"), kMark + kMark);                          // overlong
  EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), kMark + kMark + kMark);              // surrogate
  EXPECT_EQ(to_valid_utf8("\xf4\x90\x80\x80"), kMark + kMark + kMark + kMark);  // past U+10FFFF
  EXPECT_EQ(to_valid_utf8("\xe2\x82"
                          "a"),
            kMark + "a");  // a cut character is one subpart
  EXPECT_EQ(to_valid_utf8("\xf0\x9f\x98\xe2\x82\xac"), kMark + "\xe2\x82\xac");
  EXPECT_EQ(to_valid_utf8("\x80\xff"), kMark + kMark);
}

TEST(DecodeUtf8, KnowsWhenMoreBytesCouldComplete) {
  EXPECT_TRUE(decode_utf8("\xe2\x82").incomplete);
  EXPECT_TRUE(decode_utf8("\xf0\x9f\x98").incomplete);
  EXPECT_FALSE(decode_utf8("\xe2"
                           "a")
                   .incomplete);
  EXPECT_FALSE(decode_utf8("\xff").incomplete);
  EXPECT_FALSE(decode_utf8("\xed\xa0").incomplete);
}

TEST(AppendUtf8, ReplacesWhatIsNoCharacter) {
  std::string text;
  append_utf8(0xD800, text);
  append_utf8(0x110000, text);
  EXPECT_EQ(text, kMark + kMark);
}

TEST(IsValidUtf8, TellsGoodFromBad) {
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_valid_utf8("a\xc3"));
  EXPECT_FALSE(is_valid_utf8("\x80"));
}

TEST(CountCodePoints, CountsIllFormedPartsOnce) {
  EXPECT_EQ(count_code_points("a\xc3\xa9\xf0\x9f\x98\x80"), 3U);
  EXPECT_EQ(count_code_points("\xe2\x82"
                              "a"),
            2U);
}

}  // namespace
}  // namespace rill
