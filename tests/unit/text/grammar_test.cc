// SPDX-License-Identifier: Apache-2.0
// The automaton and the matcher, with grammars in GBNF.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"
#include "unit/text/grammar_support.h"
#include "unit/text/text_test_data.h"

namespace rill::text::grammar {
namespace {

using test::has_token;
using test::Language;
using test::message_of;

TEST(Gbnf, ReadsEveryConstruct) {
  Language language(
      gbnf_grammar("# a list\n"
                   "root ::= item (\", \" item)* tail?   # comment\n"
                   "item ::=\n  \"x\" [0-9]{2} | word |\n  \"\\x41\\u00e9\\U0001F600\\n\\\"\"\n"
                   "\n"
                   "word ::= [^ ,x\\n]+\n  | \"[\\]\" .\n"
                   "tail ::= ( \"!\"{1,3} | \"?\"{2,} | )\n"));
  for (const char* text : {"x12", "x12, abc", "x12, x99!!!", "x12??", "x12?????",
                           "A\xc3\xa9\xf0\x9f\x98\x80\n\"", "\xc3\xa4", "[]\xe2\x82\xac"}) {
    EXPECT_TRUE(language.has(text)) << text;
  }
  for (const char* text : {"", "x1", "x123", "x12,abc", "x12!!!!", "x12?", "\xc3", "x12, ", "[]"}) {
    if (std::string(text) == "[]") continue;  // a word
    EXPECT_FALSE(language.has(text)) << text;
  }
  EXPECT_TRUE(language.has_prefix("\xc3"));
  EXPECT_FALSE(language.has_prefix("\xff"));
}

TEST(Gbnf, NamesLineAndColumnOfWhatItRefuses) {
  const auto message = [](const char* text) { return message_of(gbnf_grammar(text)); };
  EXPECT_EQ(message("root ::= \"a"), "grammar: line 1, column 10: this literal is not closed");
  EXPECT_EQ(message("root ::= [a"), "grammar: line 1, column 10: this class is not closed");
  EXPECT_EQ(message("root ::= (\"a\""), "grammar: line 1, column 10: this group is not closed");
  EXPECT_EQ(message("root ::= \"\\q\""), "grammar: line 1, column 11: unknown escape");
  EXPECT_EQ(message("root ::= \"\\ud800\""),
            "grammar: line 1, column 11: this escape names no character");
  EXPECT_EQ(message("root ::= a\n\na ::= b"), "grammar: line 3, column 7: rule b is not defined");
  EXPECT_EQ(message("root ::= \"a\"\nroot ::= \"b\""),
            "grammar: line 2, column 1: rule root is defined twice");
  EXPECT_EQ(message("a ::= \"\""),
            "grammar: line 1, column 9: got no rule root, expected \"root ::= ...\"");
  EXPECT_EQ(message("root ::= <[12]>"),
            "grammar: line 1, column 10: token references are not supported");
  EXPECT_EQ(message("root ::= \"\xc3\xa4\" &"), "grammar: line 1, column 14: unexpected &");
  EXPECT_EQ(message("root ::= \"a\"{3,2}"),
            "grammar: line 1, column 13: a repetition's counts are reversed");
  EXPECT_EQ(message("root ::= \"a\"{9999999}"),
            "grammar: line 1, column 21: a repetition counts to 1000000 at most");
  EXPECT_EQ(message("root ::= \"a\")"), "grammar: line 1, column 13: got ), expected another rule");
  EXPECT_EQ(message("root"), "grammar: line 1, column 1: expected a rule, \"name ::= ...\"");
  EXPECT_EQ(message("root ::= root \"a\" | \"b\""), "grammar: rule root: left recursion");
  EXPECT_EQ(message("root ::= \"\"* a\na ::= [x]? root \"c\""),
            "grammar: rule root: left recursion");
  EXPECT_EQ(message("root ::= \"a\" root"), "grammar: no text matches");
}

/// Ends of the texts that an expression matches from `at` on; written to be obviously right.
std::set<size_t> ends_of(const Grammar& grammar, ExprId id, std::string_view text, size_t at) {
  const Expr& expr = grammar.expr(id);
  std::set<size_t> ends;
  switch (expr.kind) {
    case Expr::Kind::kBytes:
      if (at < text.size() && grammar.byte_sets()[expr.a].contains(static_cast<uint8_t>(text[at])))
        ends.insert(at + 1);
      break;
    case Expr::Kind::kMarker:
      break;
    case Expr::Kind::kSequence:
      ends.insert(at);
      for (const ExprId child : grammar.children(expr)) {
        std::set<size_t> next;
        for (const size_t from : ends) next.merge(ends_of(grammar, child, text, from));
        ends = std::move(next);
      }
      break;
    case Expr::Kind::kChoice:
      for (const ExprId child : grammar.children(expr))
        ends.merge(ends_of(grammar, child, text, at));
      break;
    case Expr::Kind::kRepeat: {
      std::set<size_t> from{at};
      const uint32_t most = std::min<uint32_t>(expr.c, static_cast<uint32_t>(text.size()) + expr.b);
      for (uint32_t count = 0; count <= most && !from.empty(); ++count) {
        if (count >= expr.b) ends.insert(from.begin(), from.end());
        std::set<size_t> next;
        for (const size_t start : from) next.merge(ends_of(grammar, expr.a, text, start));
        from = std::move(next);
      }
      break;
    }
    case Expr::Kind::kRule:
      return ends_of(grammar, grammar.body(expr.a), text, at);
  }
  return ends;
}

TEST(Automaton, HasTheTextsThatTheDefinitionGives) {
  const char* grammars[] = {
      "root ::= (\"a\"? \"b\"*){2,3} \"c\"",
      "root ::= ((\"a\" | \"ab\"){1,2} | \"b\"?){2}",
      "root ::= (\"a\"{0,2} (\"b\"?)){0,3}",
      "root ::= \"a\" root \"b\" | \"c\"?",
      "root ::= x{2,} y\nx ::= \"a\" | \"ab\" | \"\"\ny ::= (\"c\" x){0,2}",
      "root ::= ((\"a\"?){3}){2} \"b\"",
      "root ::= (\"a\"+ \"b\"?)+ | \"c\"{2,4}",
  };
  for (const char* text : grammars) {
    Language language(gbnf_grammar(text));
    const Grammar& grammar = *language.grammar();
    std::vector<std::string> words{""};
    for (size_t i = 0; i < words.size(); ++i) {
      const bool expected = ends_of(grammar, grammar.root(), words[i], 0).contains(words[i].size());
      EXPECT_EQ(language.has(words[i]), expected) << text << " on " << words[i];
      if (words[i].size() == 7) continue;
      for (const char c : {'a', 'b', 'c'}) words.push_back(words[i] + c);
    }
  }
}

/// The tokens that may come behind a text, by trying each of them from the start.
std::vector<int32_t> brute_force(Language& language, const TokenTrie& trie,
                                 const std::string& prefix, int32_t stop_id) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < trie.vocab_size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    const std::string_view bytes = trie.token_bytes(token);
    const bool fits = token == stop_id
                          ? language.has(prefix)
                          : !bytes.empty() && language.has_prefix(prefix + std::string(bytes));
    if (fits) out.push_back(token);
  }
  return out;
}

void expect_masks_equal_brute_force(const Tokenizer& tokenizer, Result<Grammar> grammar,
                                    const std::string& text) {
  const auto trie = TokenTrie::create(tokenizer);
  const int32_t stop_id = tokenizer.end_of_generation_ids()[0];
  Language language(std::move(grammar));
  auto matcher = TokenMatcher::create(language.grammar(), trie, {stop_id});
  ASSERT_TRUE(matcher) << matcher.error().message;
  std::vector<int32_t> byte_tokens(256, -1);
  for (size_t i = 0; i < trie->vocab_size(); ++i) {
    const std::string_view bytes = trie->token_bytes(static_cast<int32_t>(i));
    if (bytes.size() == 1) byte_tokens[static_cast<uint8_t>(bytes[0])] = static_cast<int32_t>(i);
  }
  std::vector<uint64_t> words((trie->vocab_size() + 63) / 64 + 2, ~uint64_t{0});
  for (size_t i = 0; i <= text.size(); ++i) {
    ASSERT_TRUE(matcher->allowed(words));
    ASSERT_EQ(test::tokens_of(words), brute_force(language, *trie, text.substr(0, i), stop_id))
        << text.substr(0, i);
    if (i == text.size()) break;
    const int32_t token = byte_tokens[static_cast<uint8_t>(text[i])];
    ASSERT_TRUE(matcher->accept(token)) << text.substr(0, i + 1);
  }
  EXPECT_TRUE(matcher->may_end());
}

TEST(TokenMatcher, EqualsBruteForceBehindEveryByte) {
  const Tokenizer tokenizer = text::test::text_tokenizer();
  expect_masks_equal_brute_force(
      tokenizer, json_schema_grammar(R"({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 40},
        "tags": {"type": "array", "items": {"enum": ["one", "two", 3, null]}, "maxItems": 3},
        "when": {"type": "string", "format": "date"}}})"),
      "{\"name\": \"\xc3\xa4\\u00e9 \xf0\x9f\x98\x80xyz\",\"tags\": [\"one\", "
      "3],\"when\":\"2024-02-28\"}");
  expect_masks_equal_brute_force(tokenizer, gbnf_grammar("root ::= ([a-z ]{2,30} \", \"?){1,4}"),
                                 "the quick, brown fox");
}

TEST(TokenMatcher, EqualsBruteForceWithTheOtherVocabulary) {
  expect_masks_equal_brute_force(text::test::audio_tokenizer(),
                                 regex_grammar("(\\w+@)?[^\\s@]{3,200}(\\.|[0-9]{2,})"),
                                 "some@\xd0\xb6\xd0\xb6\xd0\xb6thing.");
}

TEST(TokenMatcher, RefusesTokensThatDoNotFit) {
  const Tokenizer tokenizer = text::test::text_tokenizer();
  const auto trie = TokenTrie::create(tokenizer);
  Language language(gbnf_grammar("root ::= \"a\""));
  const auto make = [&](std::vector<int32_t> stop_ids) {
    return TokenMatcher::create(language.grammar(), trie, std::move(stop_ids));
  };
  EXPECT_EQ(make({}).error().message, "grammar: got no stop id, expected at least one");
  EXPECT_EQ(make({-1}).error().message, "grammar: stop id: got -1, expected 0 to 1023");
  auto matcher = make({7, 2});
  ASSERT_TRUE(matcher);
  EXPECT_FALSE(matcher->accept(7));
  EXPECT_FALSE(matcher->accept(3));
  EXPECT_FALSE(matcher->accept(-1));
  EXPECT_FALSE(matcher->accept(100000));
  const int32_t a = *tokenizer.find("a");
  EXPECT_FALSE(matcher->accept(*tokenizer.find("b")));
  ASSERT_TRUE(matcher->accept(a));
  EXPECT_FALSE(matcher->accept(a));
  std::vector<uint64_t> words(16);
  ASSERT_TRUE(matcher->allowed(words));
  EXPECT_EQ(test::tokens_of(words), (std::vector<int32_t>{2, 7}));
  EXPECT_TRUE(matcher->accept(7));
  EXPECT_TRUE(matcher->accept(2));
}

TEST(TokenMatcher, KeepsGoingThroughLongTexts) {
  const auto trie = TokenTrie::create(text::test::text_tokenizer());
  Language language(regex_grammar("(a{1,1000}b){1000}"));
  auto matcher = TokenMatcher::create(language.grammar(), trie, {7});
  ASSERT_TRUE(matcher);
  std::vector<uint64_t> words(16);
  const int32_t a = *text::test::text_tokenizer().find("a");
  const int32_t b = *text::test::text_tokenizer().find("b");
  for (size_t i = 0; i < 60; ++i) {
    for (size_t j = 0; j < 500; ++j) ASSERT_TRUE(matcher->accept(a));
    ASSERT_TRUE(matcher->allowed(words));
    EXPECT_TRUE(has_token(words, b));
    EXPECT_FALSE(has_token(words, 7));
    ASSERT_TRUE(matcher->accept(b));
  }
}

TEST(TokenMatcher, EndsHostileGrammarsWithAnError) {
  const auto trie = TokenTrie::create(text::test::text_tokenizer());
  const auto begin = std::chrono::steady_clock::now();
  // Each level doubles the number of stacks.
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    const std::string next = std::to_string(i + 1);
    doubling += "r" + n + " ::= r" + next + " \"a\" | r" + next + " \"b\"\n";
  }
  doubling += "r40 ::= \"c\"\n";
  Language first(gbnf_grammar(doubling));
  EXPECT_EQ(TokenMatcher::create(first.grammar(), trie, {7}).error().message,
            "grammar: too ambiguous: too many readings of the text so far");
  Language second(regex_grammar("(((a?){500}b?){500}c?){500}"));
  auto matcher = TokenMatcher::create(second.grammar(), trie, {7});
  std::vector<uint64_t> words(16);
  bool failed = !matcher;
  const int32_t a = *text::test::text_tokenizer().find("a");
  for (size_t i = 0; i < 600 && !failed; ++i)
    failed = !matcher->allowed(words) || !matcher->accept(a);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 30.0);
}

TEST(Grammar, RefusesWhatIsTooLarge) {
  std::string text = "root ::= ";
  for (size_t i = 0; i < 60000; ++i) text += ". ";
  EXPECT_NE(message_of(gbnf_grammar(text)).find("the grammar is too large"), std::string::npos);
  const std::string deep(300, '(');
  EXPECT_NE(message_of(gbnf_grammar("root ::= " + deep)).find("more than 200 groups"),
            std::string::npos);
}

}  // namespace
}  // namespace rill::text::grammar
