// SPDX-License-Identifier: Apache-2.0
// Vocabulary: what each token id stands for, and the ways back from bytes to ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace rill::text {

/// What a token is; the numbers are GGUF's.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      ///< marked special: vanishes when special tokens are skipped
  kUserDefined = 4,  ///< added, but not special: matched whole in text, prints its text
  kUnused = 5,       ///< a hole in the id range: stands for nothing
};

/// Tokens by id. Entries are added once, in any order of ids; ids never added are unused.
class Vocabulary {
 public:
  static constexpr size_t kMaxTokens = size_t{1} << 22;

  /// A vocabulary of ids [0, num_tokens), all unused. num_tokens <= kMaxTokens.
  explicit Vocabulary(size_t num_tokens = 0) : tokens_(num_tokens) {}

  /// Sets what an id stands for. `entry` is the text in the file: the byte alphabet for normal
  /// tokens, plain text for control and user-defined ones (and for a normal entry with a character
  /// outside the alphabet). Errors: kInvalidFormat: the entry is empty, the id is taken or out of
  /// range, or another id has the same entry.
  Status add(int32_t id, std::string_view entry, TokenKind kind);

  /// The same for an added token (plain text) that is not part of the merge model, so that no piece
  /// can become it; if add() has set the id to the same text, only its kind changes (tokenizer.json
  /// may list a token twice).
  Status add_outside_model(int32_t id, std::string_view text, TokenKind kind);

  /// Every byte must have a token of its own. Errors: kInvalidFormat naming the byte.
  Status check_bytes() const;

  [[nodiscard]] size_t size() const { return tokens_.size(); }
  [[nodiscard]] bool has_id(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < tokens_.size();
  }
  [[nodiscard]] TokenKind kind(int32_t id) const { return tokens_[static_cast<size_t>(id)].kind; }
  [[nodiscard]] std::string_view bytes(int32_t id) const {
    return tokens_[static_cast<size_t>(id)].bytes;
  }
  /// The token whose entry in the file is this text.
  [[nodiscard]] std::optional<int32_t> find_entry(std::string_view entry) const;
  /// The token that a piece of text is when it is looked up whole.
  [[nodiscard]] std::optional<int32_t> find_piece(std::string_view bytes) const;
  /// The token of one byte; valid after check_bytes().
  [[nodiscard]] int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

 private:
  struct Token {
    std::string bytes;
    TokenKind kind = TokenKind::kUnused;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Index = std::unordered_map<std::string, int32_t, Hash, std::equal_to<>>;

  Status place(int32_t id, std::string_view entry, TokenKind kind);

  std::vector<Token> tokens_;
  Index entries_;  // text in the file -> id
  Index pieces_;   // bytes, for entries that are written in the alphabet -> id
  std::array<int32_t, 256> byte_tokens_ = make_no_tokens();

  static std::array<int32_t, 256> make_no_tokens() {
    std::array<int32_t, 256> ids;
    ids.fill(-1);
    return ids;
  }
};

}  // namespace rill::text
