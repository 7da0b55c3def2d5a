// SPDX-License-Identifier: Apache-2.0
// TokenTrie: a vocabulary's tokens by their bytes, in the order in which a grammar walks them.
// Control and added tokens are no text and stand beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace rill::text::grammar {

/// Immutable. Threading: any number of threads at once.
class TokenTrie {
 public:
  /// A byte below its parent, in depth-first order.
  struct Node {
    uint32_t end;    ///< the first node that is not below this one
    int32_t token;   ///< the token that ends here; -1: none. Equal tokens: see twins()
    uint16_t depth;  ///< bytes from the root, from 1 on
    uint8_t byte;
  };
  static constexpr size_t kMaxTokenBytes = 1024;  ///< longer tokens are never allowed

  /// Cost: a sort of the vocabulary; keep it.
  static std::shared_ptr<const TokenTrie> create(const Tokenizer& tokenizer);
  /// The tokens by id, all of them text.
  static std::shared_ptr<const TokenTrie> of_texts(std::span<const std::string> tokens);

  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] size_t vocab_size() const { return offsets_.size() - 1; }
  [[nodiscard]] size_t max_token_bytes() const { return max_token_bytes_; }
  /// The bytes of a token that is text; empty for all others.
  [[nodiscard]] std::string_view token_bytes(int32_t token) const;
  /// (token with the bytes of an earlier one, that earlier one)
  [[nodiscard]] std::span<const std::pair<int32_t, int32_t>> twins() const { return twins_; }
  /// Tokens with a double quote in them.
  [[nodiscard]] std::span<const int32_t> quote_tokens() const { return quote_tokens_; }
  /// The control or added token that is written like this.
  [[nodiscard]] std::optional<int32_t> find_marker(std::string_view text) const;

 private:
  TokenTrie() = default;
  void add_text(std::string_view bytes);
  void build();

  std::vector<Node> nodes_;
  std::string bytes_;                 // of all tokens, by id
  std::vector<uint32_t> offsets_{0};  // [V + 1]
  std::vector<std::pair<int32_t, int32_t>> twins_;
  std::vector<int32_t> quote_tokens_;
  std::unordered_map<std::string, int32_t> markers_;
  size_t max_token_bytes_ = 0;
};

}  // namespace rill::text::grammar
