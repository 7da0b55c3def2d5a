// SPDX-License-Identifier: Apache-2.0
// What the grammar tests share: whether a grammar has a text, walks through a matcher, and a small
// validator of JSON schemas that is independent of the code under test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/grammar/automaton.h"
#include "text/grammar/token_matcher.h"
#include "text/grammar/token_trie.h"

namespace rill::text::grammar::test {

/// A grammar, run byte by byte.
class Language {
 public:
  explicit Language(Result<Grammar> grammar) {
    EXPECT_TRUE(grammar) << grammar.error().message;
    if (!grammar) return;
    grammar_ = std::make_shared<const Grammar>(*std::move(grammar));
    automaton_ = std::make_unique<Automaton>(grammar_, 16);
  }
  [[nodiscard]] const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }

  /// Whether the text is in the language.
  bool has(std::string_view text) {
    const StateId state = run(text);
    return state > Automaton::kDead && automaton_->may_end(state);
  }
  /// Whether the text can go on to one that is.
  bool has_prefix(std::string_view text) { return run(text) > Automaton::kDead; }

 private:
  StateId run(std::string_view text) {
    automaton_->begin_work();
    StateId state = automaton_->start();
    for (const char c : text) {
      if (state <= Automaton::kDead) break;
      state = automaton_->next(state, static_cast<uint8_t>(c));
    }
    EXPECT_NE(state, Automaton::kFailed) << text;
    return state;
  }

  std::shared_ptr<const Grammar> grammar_;
  std::unique_ptr<Automaton> automaton_;
};

inline std::string message_of(const Result<Grammar>& grammar) {
  return grammar ? "accepted" : grammar.error().message;
}

inline bool has_token(const std::vector<uint64_t>& words, int32_t token) {
  const auto i = static_cast<size_t>(token);
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

inline std::vector<int32_t> tokens_of(const std::vector<uint64_t>& words) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < words.size() * 64; ++i) {
    if (has_token(words, static_cast<int32_t>(i))) out.push_back(static_cast<int32_t>(i));
  }
  return out;
}

/// A text of the grammar made of random tokens. Above `budget` tokens it takes the stop id or a
/// quote or bracket that closes something as soon as one is allowed.
struct Walk {
  std::vector<int32_t> tokens;  // without the stop id
  bool has_ended = false;
};

inline Walk random_walk(TokenMatcher& matcher, const TokenTrie& trie, int32_t stop_id,
                        uint32_t seed, size_t budget, size_t limit) {
  std::mt19937 random(seed);
  Walk walk;
  std::vector<uint64_t> words((trie.vocab_size() + 63) / 64);
  while (walk.tokens.size() < limit) {
    const Status status = matcher.allowed(words);
    EXPECT_TRUE(status) << status.error().message;
    if (!status) return walk;
    const std::vector<int32_t> choices = tokens_of(words);
    int32_t token = choices[random() % choices.size()];
    if (walk.tokens.size() >= budget) {
      for (const int32_t choice : choices) {
        const std::string_view bytes = trie.token_bytes(choice);
        if (bytes == "\"" || bytes == "'" || bytes == "]" || bytes == "}" || bytes == ")")
          token = choice;
        if (choice == stop_id) {
          token = choice;
          break;
        }
      }
    }
    if (token == stop_id) {
      walk.has_ended = true;
      return walk;
    }
    walk.tokens.push_back(token);
    const Status accepted = matcher.accept(token);
    EXPECT_TRUE(accepted) << accepted.error().message;
    if (!accepted) return walk;
  }
  return walk;
}

/// Whether a value is valid under a schema, for the keywords that the tests use.
bool is_valid(const Json& value, const Json& schema, const Json& root);

}  // namespace rill::text::grammar::test
