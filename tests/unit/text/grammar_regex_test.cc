// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <regex>

#include "text/grammar/regex.h"
#include "unit/text/grammar_support.h"

namespace rill::text::grammar {
namespace {

using test::Language;
using test::message_of;

TEST(Regex, HasTheTextsThatTheStandardLibraryMatches) {
  const char* patterns[] = {
      "a*b?",           "(a|b)+",       "^ab|cd$",    "a{2,3}b{0,1}", "(?:ab)*a",   "[^a]+",
      "[a-c-]{1,2}",    "a.b",          "\\d+|\\w",   "(a*)*b",       "(a?){2}b*?", "[\\dab]+",
      "((a|ab)(c|bc))", "a{2}",         "[ab]{2,}c?", "()|a",         "\\x61\\-",   "x|",
      "(a{1,2}){2}",    "(a|b){0,2}c+", "[\\s-]a",    "b|a*",         "\\.\\d",     "a+?b+"};
  for (const char* pattern : patterns) {
    Language language(regex_grammar(pattern));
    const std::regex expected(pattern);
    std::vector<std::string> words{""};
    for (size_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(language.has(words[i]), std::regex_match(words[i], expected))
          << pattern << " on " << words[i];
      if (words[i].size() == 4) continue;
      for (const char c : {'a', 'b', 'c', '1', '-', '.'}) words.push_back(words[i] + c);
    }
  }
}

TEST(Regex, WorksOnCharactersNotBytes) {
  Language two(regex_grammar("^.{2}$"));
  EXPECT_TRUE(two.has("\xc3\xa4\xf0\x9f\x98\x80"));
  EXPECT_FALSE(two.has("\xc3\xa4"));
  EXPECT_FALSE(two.has_prefix("\xa4"));
  Language range(regex_grammar("[\\u{1F600}-\\u{1F64F}\\u00e4]+"));
  EXPECT_TRUE(range.has("\xf0\x9f\x98\x80\xc3\xa4"));
  EXPECT_FALSE(range.has("\xf0\x9f\x9a\x80"));
}

TEST(Regex, NamesWhatItRefusesAndWhere) {
  const auto message = [](const char* pattern) { return message_of(regex_grammar(pattern)); };
  EXPECT_EQ(message("ab(?=c)"), "regex: byte 2: lookahead assertions: not supported");
  EXPECT_EQ(message("(?!c)"), "regex: byte 0: lookahead assertions: not supported");
  EXPECT_EQ(message("(?<=c)a"), "regex: byte 0: lookbehind assertions: not supported");
  EXPECT_EQ(message("(a)\\1"), "regex: byte 3: backreferences: not supported");
  EXPECT_EQ(message("(?P=n)"), "regex: byte 0: backreferences: not supported");
  EXPECT_EQ(message("\\ba"), "regex: byte 0: word boundaries: not supported");
  EXPECT_EQ(message("\\p{L}"), "regex: byte 0: character properties: not supported");
  EXPECT_EQ(message("(?i)a"), "regex: byte 0: inline flags and groups of this kind: not supported");
  EXPECT_EQ(message("(?>a)"), "regex: byte 0: atomic groups: not supported");
  EXPECT_EQ(message("a*+"), "regex: byte 2: possessive repetitions: not supported");
  EXPECT_EQ(message("a^b"), "regex: byte 1: ^ inside an expression: not supported");
  EXPECT_EQ(message("(a$)"), "regex: byte 2: $ inside an expression: not supported");
  EXPECT_EQ(message("a$b"), "regex: byte 1: $ inside an expression: not supported");
  EXPECT_EQ(message("a{3,2}"), "regex: byte 1: a repetition's counts are reversed");
  EXPECT_EQ(message("a**"), "regex: byte 2: a repetition stands behind a repetition");
  EXPECT_EQ(message("*a"), "regex: byte 0: nothing stands in front of this repetition");
  EXPECT_EQ(message("[z-a]"), "regex: byte 2: a range's ends are reversed");
  EXPECT_EQ(message("[a"), "regex: byte 0: this class is not closed");
  EXPECT_EQ(message("(a"), "regex: byte 0: this group is not closed");
  EXPECT_EQ(message("a)"), "regex: byte 1: got ), expected a group that it closes");
  EXPECT_EQ(message("a\\"), "regex: byte 1: nothing follows the backslash");
  EXPECT_EQ(message("\\xg0"), "regex: byte 0: an escape lacks hexadecimal digits");
  EXPECT_EQ(message("a{2000000}"), "regex: byte 1: a repetition counts to 1000000 at most");
  EXPECT_EQ(message("[]"), "grammar: no text matches");
}

}  // namespace
}  // namespace rill::text::grammar
