// SPDX-License-Identifier: Apache-2.0
// TokenMatcher: which tokens a grammar allows next. It walks the vocabulary's trie along with the
// automaton and skips whole subtrees that no reading of the grammar takes; the result is kept for
// every state, so that a state that comes again costs a copy.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton.h"
#include "text/grammar/json_keys.h"
#include "text/grammar/token_trie.h"

namespace rill::text::grammar {

/// One reply's position in a grammar. Threading: one thread.
class TokenMatcher {
 public:
  static constexpr size_t kMaxMasks = 256;  ///< kept, the last recently used ones leave

  /// Errors: kInvalidArgument (a stop id outside the vocabulary, none at all), kUnsupported (the
  /// vocabulary lacks a marker of the grammar).
  static Result<TokenMatcher> create(std::shared_ptr<const Grammar> grammar,
                                     std::shared_ptr<const TokenTrie> trie,
                                     std::vector<int32_t> stop_ids);

  /// Sets the bit of every token that may come next, and clears all others: text tokens that some
  /// reading takes, markers that the grammar names, the stop ids where the text may end. `words`
  /// may be longer than the vocabulary. Shape: [ceil(V / 64) or more].
  /// Errors: kInvalidArgument (no token), kUnsupported (the grammar is too ambiguous here).
  Status allowed(std::span<uint64_t> words);

  /// Moves on by a token. A stop id where the text may end changes nothing.
  /// Errors: kInvalidArgument (a token that allowed() does not give).
  Status accept(int32_t token);

  /// Whether the text so far is complete; more may be allowed all the same.
  [[nodiscard]] bool may_end() const { return automaton_.may_end(state_); }

 private:
  using Mask = std::vector<uint64_t>;
  struct CachedMask {
    StateId state;
    Mask mask;
  };

  TokenMatcher(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie);
  Result<const Mask*> mask_of(StateId state);
  Status walk(StateId state, Mask& mask);
  void ban_repeated_keys(std::span<uint64_t> words) const;
  void forget_masks();

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<int32_t> stop_ids_;
  std::vector<int32_t> markers_;  // tokens of the grammar's markers
  Automaton automaton_;
  StateId state_;
  JsonKeys keys_;
  std::list<CachedMask> masks_;  // the most recently used first
  std::unordered_map<StateId, std::list<CachedMask>::iterator> mask_of_state_;
  std::vector<StateId> path_;  // states along the walk
};

}  // namespace rill::text::grammar
