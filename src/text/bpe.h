// SPDX-License-Identifier: Apache-2.0
// Byte-level byte pair encoding of one piece: starts from one token per byte and joins the
// neighbouring pair of lowest rank, the leftmost of equals first, until no pair is in the merge
// table. n log n in the length of the piece.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/vocabulary.h"

namespace rill::text {

/// The merge table: pair of tokens -> rank and joined token.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = 0;
    int32_t token = 0;
  };

  /// Adds the merge of two vocabulary entries, in ascending rank.
  /// Errors: kInvalidFormat: a part or the joined text is no entry, or the pair is listed twice.
  Status add(const Vocabulary& vocabulary, std::string_view left, std::string_view right);

  [[nodiscard]] std::optional<Merge> find(int32_t left, int32_t right) const;
  [[nodiscard]] size_t size() const { return merges_.size(); }
  /// The pairs in ascending rank.
  [[nodiscard]] std::vector<std::array<int32_t, 2>> pairs() const;

 private:
  static uint64_t key(int32_t left, int32_t right) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
           static_cast<uint32_t>(right);
  }

  std::unordered_map<uint64_t, Merge> merges_;
};

/// Encodes pieces; keeps its working memory between them.
class BpeEncoder {
 public:
  BpeEncoder(const Vocabulary& vocabulary, const MergeTable& merges)
      : vocabulary_(vocabulary), merges_(merges) {}

  /// Appends the tokens of a piece of at most 2^31 - 1 bytes.
  void encode(std::string_view piece, std::vector<int32_t>& ids);

 private:
  static constexpr int32_t kNone = -1;

  struct Symbol {
    int32_t token = kNone;  // kNone: joined into the symbol to the left
    int32_t previous = kNone;
    int32_t next = kNone;
  };
  struct Candidate {
    uint32_t rank = 0;
    int32_t left_symbol = 0;  // index, ascending from left to right
    int32_t left_token = 0;
    int32_t right_token = 0;
    int32_t joined_token = 0;
  };
  /// Order of the heap: the lowest rank on top, then the leftmost.
  static bool is_after(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left_symbol > b.left_symbol;
  }

  void propose(int32_t left_symbol);
  void join(const Candidate& candidate);
  [[nodiscard]] bool is_current(const Candidate& candidate) const;

  const Vocabulary& vocabulary_;
  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace rill::text
