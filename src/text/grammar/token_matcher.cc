// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/token_matcher.h"

#include <algorithm>

#include "base/str_cat.h"

namespace rill::text::grammar {
namespace {

void set_bit(int32_t token, std::span<uint64_t> words) {
  const auto i = static_cast<size_t>(token);
  words[i / 64] |= uint64_t{1} << (i % 64);
}

void clear_bit(int32_t token, std::span<uint64_t> words) {
  const auto i = static_cast<size_t>(token);
  words[i / 64] &= ~(uint64_t{1} << (i % 64));
}

bool has_bit(int32_t token, std::span<const uint64_t> words) {
  const auto i = static_cast<size_t>(token);
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

}  // namespace

TokenMatcher::TokenMatcher(std::shared_ptr<const Grammar> grammar,
                           std::shared_ptr<const TokenTrie> trie)
    : grammar_(std::move(grammar)),
      trie_(std::move(trie)),
      automaton_(grammar_, trie_->max_token_bytes()),
      state_(automaton_.start()) {}

Result<TokenMatcher> TokenMatcher::create(std::shared_ptr<const Grammar> grammar,
                                          std::shared_ptr<const TokenTrie> trie,
                                          std::vector<int32_t> stop_ids) {
  TokenMatcher matcher(std::move(grammar), std::move(trie));
  if (matcher.state_ == Automaton::kFailed) return matcher.automaton_.failure();
  if (stop_ids.empty())
    return Error{ErrorCode::kInvalidArgument, "grammar: got no stop id, expected at least one"};
  for (const int32_t id : stop_ids) {
    if (id < 0 || static_cast<size_t>(id) >= matcher.trie_->vocab_size()) {
      return Error{
          ErrorCode::kInvalidArgument,
          cat("grammar: stop id: got ", id, ", expected 0 to ", matcher.trie_->vocab_size() - 1)};
    }
  }
  matcher.stop_ids_ = std::move(stop_ids);
  for (const std::string& marker : matcher.grammar_->markers()) {
    const std::optional<int32_t> token = matcher.trie_->find_marker(marker);
    if (!token) {
      return Error{ErrorCode::kUnsupported,
                   cat("grammar: the vocabulary has no token ", printable(marker))};
    }
    matcher.markers_.push_back(*token);
  }
  return matcher;
}

void TokenMatcher::forget_masks() {
  masks_.clear();
  mask_of_state_.clear();
}

Status TokenMatcher::walk(StateId state, Mask& mask) {
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  path_.assign(trie_->max_token_bytes() + 1, Automaton::kDead);
  path_[0] = state;
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const StateId to = automaton_.next(path_[node.depth - 1u], node.byte);
    if (to <= Automaton::kDead) {
      if (to == Automaton::kFailed) return automaton_.failure();
      i = node.end;
      continue;
    }
    path_[node.depth] = to;
    if (node.token >= 0) set_bit(node.token, mask);
    ++i;
  }
  for (const auto& [twin, first] : trie_->twins()) {
    if (has_bit(first, mask)) set_bit(twin, mask);
  }
  for (size_t i = 0; i < markers_.size(); ++i) {
    const StateId to = automaton_.next_marker(state, i);
    if (to == Automaton::kFailed) return automaton_.failure();
    if (to != Automaton::kDead) set_bit(markers_[i], mask);
  }
  for (const int32_t id : stop_ids_) {
    if (automaton_.may_end(state)) {
      set_bit(id, mask);
    } else {
      clear_bit(id, mask);
    }
  }
  return {};
}

Result<const TokenMatcher::Mask*> TokenMatcher::mask_of(StateId state) {
  const auto known = mask_of_state_.find(state);
  if (known != mask_of_state_.end()) {
    masks_.splice(masks_.begin(), masks_, known->second);
    return &masks_.front().mask;
  }
  Mask mask((trie_->vocab_size() + 63) / 64, 0);
  RILL_RETURN_IF_ERROR(walk(state, mask));
  if (masks_.size() >= kMaxMasks) {
    mask_of_state_.erase(masks_.back().state);
    masks_.pop_back();
  }
  masks_.push_front({state, std::move(mask)});
  mask_of_state_[state] = masks_.begin();
  return &masks_.front().mask;
}

/// Tokens that would end a key which its object already has.
void TokenMatcher::ban_repeated_keys(std::span<uint64_t> words) const {
  for (const int32_t token : trie_->quote_tokens()) {
    if (has_bit(token, words) && !keys_.accepts(trie_->token_bytes(token))) clear_bit(token, words);
  }
}

Status TokenMatcher::allowed(std::span<uint64_t> words) {
  RILL_CHECK(words.size() >= (trie_->vocab_size() + 63) / 64, "grammar: one bit for each token");
  automaton_.begin_work();
  if (automaton_.collect(state_)) forget_masks();
  const StateId canonical = automaton_.canonical(state_);
  if (canonical == Automaton::kFailed) return automaton_.failure();
  RILL_ASSIGN_OR_RETURN(const Mask* mask, mask_of(canonical));
  std::fill(std::copy(mask->begin(), mask->end(), words.begin()), words.end(), 0);
  if (grammar_->has_unique_keys()) ban_repeated_keys(words);
  const bool is_empty = std::all_of(words.begin(), words.end(), [](uint64_t w) { return w == 0; });
  if (is_empty) {
    return Error{ErrorCode::kInvalidArgument,
                 "grammar: no token can come next: the vocabulary cannot spell the grammar"};
  }
  return {};
}

Status TokenMatcher::accept(int32_t token) {
  const auto refused = [&] {
    return Error{ErrorCode::kInvalidArgument,
                 cat("grammar: token: got ", token, ", which the grammar does not allow here")};
  };
  if (std::find(stop_ids_.begin(), stop_ids_.end(), token) != stop_ids_.end()) {
    if (may_end()) return {};
    return refused();
  }
  automaton_.begin_work();
  if (automaton_.collect(state_)) forget_masks();
  StateId state = state_;
  const auto marker = std::find(markers_.begin(), markers_.end(), token);
  const std::string_view bytes = trie_->token_bytes(token);
  if (marker != markers_.end()) {
    state = automaton_.next_marker(state, static_cast<size_t>(marker - markers_.begin()));
  } else if (bytes.empty()) {
    return refused();
  }
  for (size_t i = 0; i < bytes.size() && state > Automaton::kDead; ++i)
    state = automaton_.next(state, static_cast<uint8_t>(bytes[i]));
  if (state == Automaton::kFailed) return automaton_.failure();
  if (state == Automaton::kDead) return refused();
  if (grammar_->has_unique_keys()) {
    if (!keys_.accepts(bytes)) return refused();
    keys_.push(bytes);
  }
  state_ = state;
  return {};
}

}  // namespace rill::text::grammar
