// SPDX-License-Identifier: Apache-2.0
// AddedTokens: finds tokens that are matched as whole strings before text is split into pieces: the
// leftmost match, the longest at that place, exact bytes. A trie; work is linear in the text
// (tokens are at most kMaxBytes long).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::text {

class AddedTokens {
 public:
  static constexpr size_t kMaxBytes = 512;

  struct Match {
    size_t begin = 0;
    size_t end = 0;
    int32_t id = 0;
  };

  AddedTokens() : nodes_(1) {}

  /// Errors: kInvalidFormat for an empty text, kUnsupported for one longer than kMaxBytes.
  Status add(std::string_view text, int32_t id);

  /// The first match at or after `from`.
  [[nodiscard]] std::optional<Match> find(std::string_view text, size_t from) const;

  /// The ids that can be found, ascending.
  [[nodiscard]] std::vector<int32_t> ids() const;

 private:
  static constexpr int32_t kNoToken = -1;

  [[nodiscard]] Match longest_at(std::string_view text, size_t begin) const;

  struct Edge {
    uint8_t byte;
    uint32_t node;
  };
  struct Node {
    std::vector<Edge> edges;  // ascending bytes
    int32_t id = kNoToken;
  };
  /// The node behind an edge, or 0 (no edge leads back to the root).
  [[nodiscard]] uint32_t follow(uint32_t node, uint8_t byte) const;

  std::vector<Node> nodes_;
};

}  // namespace rill::text
