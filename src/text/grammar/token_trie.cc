// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/token_trie.h"

#include <algorithm>

namespace rill::text::grammar {

/// The token of the next id.
void TokenTrie::add_text(std::string_view bytes) {
  if (bytes.size() > kMaxTokenBytes) bytes = {};
  if (bytes.find('"') != std::string_view::npos)
    quote_tokens_.push_back(static_cast<int32_t>(vocab_size()));
  bytes_ += bytes;
  offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
}

std::shared_ptr<const TokenTrie> TokenTrie::of_texts(std::span<const std::string> tokens) {
  std::shared_ptr<TokenTrie> trie(new TokenTrie);
  for (const std::string& token : tokens) trie->add_text(token);
  trie->build();
  return trie;
}

std::shared_ptr<const TokenTrie> TokenTrie::create(const Tokenizer& tokenizer) {
  std::shared_ptr<TokenTrie> trie(new TokenTrie);
  for (size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::string_view bytes = tokenizer.token_bytes(id);
    const TokenKind kind = tokenizer.kind(id);
    if (kind == TokenKind::kControl || kind == TokenKind::kUserDefined)
      trie->markers_.emplace(bytes, id);
    trie->add_text(kind == TokenKind::kNormal ? bytes : std::string_view());
  }
  trie->build();
  return trie;
}

void TokenTrie::build() {
  std::vector<int32_t> sorted;
  for (size_t i = 0; i < vocab_size(); ++i) {
    if (offsets_[i + 1] > offsets_[i]) sorted.push_back(static_cast<int32_t>(i));
  }
  // By unsigned bytes (string_view's order), so that a token stands in front of its extensions.
  std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    const int order = token_bytes(a).compare(token_bytes(b));
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<uint32_t> path;  // nodes from the root to the last token
  std::string_view previous;
  const auto close = [&](size_t depth) {
    while (path.size() > depth) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
    }
  };
  for (const int32_t id : sorted) {
    const std::string_view bytes = token_bytes(id);
    if (bytes == previous) {
      twins_.emplace_back(id, nodes_[path.back()].token);
      continue;
    }
    size_t shared = 0;
    while (shared < std::min(bytes.size(), previous.size()) && bytes[shared] == previous[shared])
      ++shared;
    close(shared);
    for (size_t i = shared; i < bytes.size(); ++i) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, -1, static_cast<uint16_t>(i + 1), static_cast<uint8_t>(bytes[i])});
    }
    nodes_.back().token = id;
    max_token_bytes_ = std::max(max_token_bytes_, bytes.size());
    previous = bytes;
  }
  close(0);
}

std::string_view TokenTrie::token_bytes(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= vocab_size()) return {};
  const auto i = static_cast<size_t>(token);
  return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

std::optional<int32_t> TokenTrie::find_marker(std::string_view text) const {
  const auto found = markers_.find(std::string(text));
  if (found == markers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace rill::text::grammar
