// SPDX-License-Identifier: Apache-2.0
// Parts of the command line that need no model: word error rate, the verify table, whisper.cpp's
// flags.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "options.h"
#include "verify_table.h"
#include "word_errors.h"

namespace rill::cli {
namespace {

TEST(CountWordErrors, IgnoresCaseAndPunctuation) {
  const WordErrors words = count_word_errors("It is five o'clock.", "it is FIVE, oclock");
  EXPECT_EQ(words.errors, 0u);
  EXPECT_EQ(words.num_words, 4u);
}

TEST(CountWordErrors, CountsSubstitutedMissingAndAddedWords) {
  EXPECT_EQ(count_word_errors("the door is red", "the ball is red").errors, 1u);
  EXPECT_EQ(count_word_errors("the door is red", "the is red").errors, 1u);
  EXPECT_EQ(count_word_errors("the door is red", "so the door is very red").errors, 2u);
  EXPECT_EQ(count_word_errors("a b c d", "b c d a").errors, 2u);
}

TEST(CountWordErrors, HyphensSeparateWords) {
  EXPECT_EQ(count_word_errors("twenty-one", "twenty one").errors, 0u);
  EXPECT_EQ(count_word_errors("twenty-one", "twenty one").num_words, 2u);
}

TEST(CountWordErrors, TakesEmptyTexts) {
  EXPECT_EQ(count_word_errors("", "").errors, 0u);
  EXPECT_EQ(count_word_errors("", "two words").errors, 2u);
  EXPECT_EQ(count_word_errors("two words", "").errors, 2u);
}

VerifyRow row(const char* subject, const char* stage, double error, double tolerance,
              const char* verdict) {
  return VerifyRow(rill_verify_row{subject, stage, error, tolerance, "relative RMS", verdict, ""});
}

TEST(WorstPerSubject, TakesTheLargestPartOfItsTolerance) {
  const auto subjects =
      worst_per_subject({row("a", "x", 1e-6, 5e-6, "pass"), row("a", "y", 2e-5, 5e-5, "pass"),
                         row("b", "z", 0, 0, "pass")});
  ASSERT_EQ(subjects.size(), 2u);
  EXPECT_EQ(subjects[0].stage, "y (of 2)");
  EXPECT_EQ(subjects[1].stage, "z");
}

TEST(WorstPerSubject, AMissComesBeforeAPassCloserToItsTolerance) {
  const auto lines =
      worst_per_subject({row("a", "x", 4.9e-6, 5e-6, "pass"), row("a", "z", 0.1, 1, "miss")});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].verdict, "miss");
}

TEST(WorstPerSubject, WhatDidNotRunHasALineOfItsOwn) {
  const auto lines =
      worst_per_subject({row("a", "x", 1e-6, 5e-6, "pass"), row("a", "y", 0, 0, "not built")});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].verdict, "pass");
  EXPECT_EQ(lines[1].verdict, "not built");
}

TEST(WorstPerSubject, NanIsTheWorstError) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto subjects =
      worst_per_subject({row("a", "x", 9, 5, "miss"), row("a", "y", nan, 5, "miss")});
  EXPECT_EQ(subjects[0].stage, "y (of 2)");
}

TEST(FormatVerifyTable, AlignsColumnsAndShowsNoFiguresForWhatDidNotRun) {
  const std::string text = format_verify_table(
      {row("encoder", "layer.1", 1e-6, 5e-6, "pass"), row("tts", "", 0, 0, "not built")}, false);
  EXPECT_EQ(text,
            "SUBJECT  STAGE    WORST  TOLERANCE  MEASURE       VERDICT    NOTE\n"
            "encoder  layer.1  1e-06  5e-06      relative RMS  pass\n"
            "tts               -      -          relative RMS  not built\n");
}

TEST(FormatVerifySummary, CountsVerdicts) {
  EXPECT_EQ(format_verify_summary({row("a", "", 0, 0, "pass"), row("b", "", 1, 0, "miss"),
                                   row("c", "", 0, 0, "not built")}),
            "3 subjects: 1 pass, 1 miss, 1 not built\n");
}

TEST(ExpandShortFlags, KnowsWhisperCppsFlagsUpToTheDoubleDash) {
  const std::vector<std::string> expanded =
      expand_short_flags({"a.wav", "-osrt", "-of", "x", "-o", "--", "-otxt"});
  EXPECT_EQ(expanded, (std::vector<std::string>{"a.wav", "--output-srt", "--output-file", "x", "-o",
                                                "--", "-otxt"}));
}

}  // namespace
}  // namespace rill::cli
