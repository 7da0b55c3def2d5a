// SPDX-License-Identifier: Apache-2.0
// The cases of tests/data/audio/text_chunks.json (made with another engine's chunker), and what
// they leave open.
#include "tasks/text_chunks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/test_data.h"

namespace rill::tasks {
namespace {

using Chunks = std::vector<std::string>;
using enum TextChunkMode;

Chunks split(std::string_view text, TextChunkMode mode, size_t budget) {
  auto chunks = split_text(text, mode, budget);
  EXPECT_TRUE(chunks.has_value()) << (chunks ? "" : chunks.error().message);
  return chunks ? std::move(chunks).value() : Chunks{};
}

TEST(SplitText, EqualsTheReferenceCases) {
  const auto bytes = test::read_file(test::data_path("audio/text_chunks.json"));
  const auto document = parse_json(test::to_text(bytes));
  ASSERT_TRUE(document) << document.error().message;
  const auto& cases = document->find("cases")->items();
  EXPECT_EQ(cases.size(), 30U);
  for (const Json& c : cases) {
    const auto mode = text_chunk_mode_by_name(c.find("mode")->as_string());
    ASSERT_TRUE(mode.has_value());
    Chunks want;
    for (const Json& chunk : c.find("chunks")->items()) want.push_back(chunk.as_string());
    EXPECT_EQ(
        split(c.find("text")->as_string(), *mode, static_cast<size_t>(c.find("budget")->as_int())),
        want)
        << c.find("name")->as_string();
  }
}

TEST(SplitText, RefusesIllFormedUtf8NamingTheByte) {
  const auto chunks = split_text("  ab\xFFz", kDefault, 10);
  ASSERT_FALSE(chunks);
  EXPECT_EQ(chunks.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(chunks.error().message, "split text: byte 4 is not valid UTF-8");
}

TEST(SplitText, RefusesAChunkSizeOfZero) {
  const auto chunks = split_text("a", kDefault, 0);
  ASSERT_FALSE(chunks);
  EXPECT_EQ(chunks.error().code, ErrorCode::kInvalidArgument);
}

TEST(SplitText, WhiteSpaceAloneGivesNoChunk) {
  for (const auto mode : {kDefault, kTagAware, kJapanese, kEndline}) {
    EXPECT_EQ(split(" \t\r\n\v\f", mode, 3), Chunks{});
    EXPECT_EQ(split("", mode, 3), Chunks{});
  }
}

TEST(SplitText, TextThatFitsIsOneChunkExceptInEndlineMode) {
  for (const auto mode : {kDefault, kTagAware, kJapanese}) {
    EXPECT_EQ(split(" One. Two,\nthree \n", mode, SIZE_MAX), Chunks{"One. Two,\nthree"});
  }
  EXPECT_EQ(split("One.\nTwo.\r\nThree", kEndline, SIZE_MAX), (Chunks{"One.", "Two.", "Three"}));
}

TEST(SplitText, ControlPrefixGetsASpaceAlsoBeforeASingleChunk) {
  EXPECT_EQ(split("(c)Hi yo", kTagAware, 8), Chunks{"(c) Hi yo"});
  EXPECT_EQ(split("(c)Hi yo", kTagAware, 7), (Chunks{"(c) Hi", "(c) yo"}));
}

TEST(SplitText, ParenthesesWithoutTextAfterThemAreText) {
  EXPECT_EQ(split("(one two)", kTagAware, 6), (Chunks{"(one", "two)"}));
  EXPECT_EQ(split("(one two", kTagAware, 6), (Chunks{"(one", "two"}));
}

TEST(SplitText, TagsStayWholeAndUnclosedBracketsAreWords) {
  EXPECT_EQ(split("[a very long tag] b <x y z>", kTagAware, 4),
            (Chunks{"[a very long tag]", "b", "<x y z>"}));
  EXPECT_EQ(split("[a very long", kTagAware, 6), (Chunks{"[a", "very", "long"}));
}

TEST(SplitText, TagAwareWordsEndAfterSentenceMarks) {
  EXPECT_EQ(split("One...two!three", kTagAware, 6), (Chunks{"One...", "two!", "three"}));
}

TEST(SplitText, AChunkOfCombiningMarksKeepsOneCodePoint) {
  EXPECT_EQ(split("\u0301\u0301\u0301", kJapanese, 2), (Chunks{"\u0301", "\u0301\u0301"}));
}

TEST(SplitText, LosesNothingButWhiteSpace) {
  const std::string text =
      "Ab, [cd ef] gh. \u304b\u3099\u3002 <x>y (z) long-word; \u3042\u3044\n\nq!";
  const auto without_space = [](const std::string& s) {
    std::string out;
    for (const char c : s) {
      if (c != ' ' && c != '\n') out += c;
    }
    return out;
  };
  for (const auto mode : {kDefault, kTagAware, kJapanese, kEndline}) {
    for (size_t budget = 1; budget < 40; ++budget) {
      std::string all;
      for (const std::string& chunk : split(text, mode, budget)) {
        EXPECT_FALSE(chunk.empty());
        all += chunk;
      }
      EXPECT_EQ(without_space(all), without_space(text)) << budget;
    }
  }
}

TEST(SplitText, TakesLinearTimeOnLongHostileText) {
  const size_t n = 50000;
  std::string opens(n, '[');
  std::string marks, words, stops;
  for (size_t i = 0; i < n; ++i) {
    marks += "\u0301";
    words += "a ";
    stops += ". ";
  }
  const auto start = std::chrono::steady_clock::now();
  for (const auto mode : {kDefault, kTagAware, kJapanese, kEndline}) {
    for (const std::string* text : {&opens, &marks, &words, &stops}) split(*text, mode, n / 2);
  }
  // Some milliseconds each; the squares would take far longer.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(TextChunkModeByName, KnowsAliases) {
  EXPECT_EQ(text_chunk_mode_by_name("default"), kDefault);
  for (const char* name : {"tag_aware", "tag-aware", "tagaware"}) {
    EXPECT_EQ(text_chunk_mode_by_name(name), kTagAware);
  }
  for (const char* name : {"japanese", "ja"}) EXPECT_EQ(text_chunk_mode_by_name(name), kJapanese);
  EXPECT_EQ(text_chunk_mode_by_name("endline"), kEndline);
  EXPECT_EQ(text_chunk_mode_by_name("words"), std::nullopt);
}

}  // namespace
}  // namespace rill::tasks
