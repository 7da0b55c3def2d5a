// SPDX-License-Identifier: Apache-2.0
#include "text/incremental_decoder.h"

#include "base/utf8.h"
#include "unit/text/text_test_data.h"

namespace rill::text {
namespace {

const std::string kReplaced = "\xEF\xBF\xBD";

/// Byte sequences that cut, open or break characters, with their text by the WHATWG rule.
struct ByteCase {
  std::string bytes;
  std::string text;      // before the end
  bool is_open = false;  // a character is still open at the end
};

const std::vector<ByteCase>& byte_cases() {
  static const std::vector<ByteCase> cases = {
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80", false},
      {"\xE0\xB8\x81", "\xE0\xB8\x81", false},
      {"a\xE4\xB8", "a", true},
      {"\xC0\x80", kReplaced + kReplaced, false},
      {"\xED\xA0\x80", kReplaced + kReplaced + kReplaced, false},
      {"\xF4\x90\x80\x80", kReplaced + kReplaced + kReplaced + kReplaced, false},
      {"\xF5", kReplaced, false},
      {"\x80", kReplaced, false},
      {"\xEF\xBB\xBFx", "\xEF\xBB\xBFx", false},
      {"\xF0\x9F\x98"
       "a",
       kReplaced + "a", false},
      {"\xE2\x82\xE2\x82\xAC", kReplaced + "\xE2\x82\xAC", false},
      {"\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7",
       "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7", false},
      {"\xF0", "", true},
      {"\xF0\x9F", "", true},
      {"\xF0\x9F\x98", "", true},
      {"", "", false},
  };
  return cases;
}

TEST(Utf8Stream, TextDoesNotDependOnTheCuts) {
  for (const ByteCase& item : byte_cases()) {
    const size_t count = item.bytes.size();
    for (uint32_t cuts = 0; cuts < (1u << std::min<size_t>(count, 12)); ++cuts) {
      Utf8Stream stream;
      std::string text;
      size_t begin = 0;
      for (size_t i = 1; i <= count; ++i) {
        if (i < count && (cuts >> i & 1) == 0) continue;
        const std::string part = stream.push(std::string_view(item.bytes).substr(begin, i - begin));
        EXPECT_TRUE(is_valid_utf8(part));
        EXPECT_LE(stream.held_bytes(), 3u);
        text += part;
        begin = i;
      }
      EXPECT_EQ(text, item.text);
      EXPECT_EQ(stream.finish(OpenCharacter::kDrop, text), item.is_open);
      EXPECT_EQ(text, item.text);
    }
  }
}

TEST(Utf8Stream, FinishReplacesAnOpenCharacterWhenAsked) {
  Utf8Stream stream;
  std::string text = stream.push("\xE4\xB8");
  EXPECT_TRUE(stream.finish(OpenCharacter::kReplace, text));
  EXPECT_EQ(text, kReplaced);
  EXPECT_FALSE(stream.finish(OpenCharacter::kReplace, text));
  EXPECT_EQ(text, kReplaced);
}

TEST(Utf8Stream, IllFormedBytesAreReplacedAtOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xFF"), kReplaced);
  EXPECT_EQ(stream.push("\xE4"), "");
  EXPECT_EQ(stream.push("\xFF"), kReplaced + kReplaced);
  EXPECT_EQ(stream.held_bytes(), 0u);
}

TEST(Utf8Stream, OneBytePerPushForAMegabyte) {
  Utf8Stream stream;
  std::string text;
  for (size_t i = 0; i < (1u << 20) / 4; ++i) {
    for (const char c : {'\xF0', '\x9F', '\x98', '\x80'})
      stream.push(std::string_view(&c, 1), text);
  }
  EXPECT_EQ(text.size(), 1u << 20);
  EXPECT_TRUE(is_valid_utf8(text));
}

TEST(IncrementalDecoder, JoinedPushesEqualDecode) {
  const Tokenizer tokenizer = test::text_tokenizer();
  const Json cases = test::read_data_json("tokenizer/cases.json");
  for (const Json& item : cases.find("decode")->items()) {
    const std::vector<int32_t> ids = test::ids_of(*item.find("ids"));
    for (const bool skip_special : {false, true}) {
      for (const OpenCharacter at_end : {OpenCharacter::kDrop, OpenCharacter::kReplace}) {
        IncrementalDecoder decoder(tokenizer, skip_special);
        std::string text;
        for (const int32_t id : ids) {
          const std::string part = decoder.push(id);
          EXPECT_TRUE(is_valid_utf8(part));
          EXPECT_LE(decoder.held_bytes(), 3u);
          text += part;
        }
        text += decoder.finish(at_end);
        EXPECT_EQ(text, tokenizer.decode(ids, skip_special, at_end));
      }
    }
  }
}

TEST(IncrementalDecoder, SaysThatItDroppedAnOpenCharacter) {
  const Tokenizer tokenizer = test::text_tokenizer();
  IncrementalDecoder decoder(tokenizer, true);
  EXPECT_EQ(decoder.push(306), "");  // F0
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_TRUE(decoder.dropped_open_character());
  EXPECT_EQ(decoder.push(198), "a");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_FALSE(decoder.dropped_open_character());
}

}  // namespace
}  // namespace rill::text
