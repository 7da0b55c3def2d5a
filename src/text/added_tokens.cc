// SPDX-License-Identifier: Apache-2.0
#include "text/added_tokens.h"

#include <algorithm>

#include "base/str_cat.h"

namespace rill::text {
namespace {

template <typename Edges>
auto edge_position(Edges& edges, uint8_t byte) {
  return std::lower_bound(edges.begin(), edges.end(), byte,
                          [](const auto& edge, uint8_t value) { return edge.byte < value; });
}

}  // namespace

uint32_t AddedTokens::follow(uint32_t node, uint8_t byte) const {
  const std::vector<Edge>& edges = nodes_[node].edges;
  const auto edge = edge_position(edges, byte);
  return edge != edges.end() && edge->byte == byte ? edge->node : 0;
}

Status AddedTokens::add(std::string_view text, int32_t id) {
  if (text.empty())
    return Error{ErrorCode::kInvalidFormat, cat("added token ", id, ": empty text")};
  if (text.size() > kMaxBytes) {
    return Error{ErrorCode::kUnsupported, cat("added token ", id, ": got a text of ", text.size(),
                                              " bytes, expected at most ", kMaxBytes)};
  }
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t next = follow(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      std::vector<Edge>& edges = nodes_[node].edges;
      edges.insert(edge_position(edges, byte), Edge{byte, next});
      nodes_.emplace_back();
    }
    node = next;
  }
  nodes_[node].id = id;
  return {};
}

std::vector<int32_t> AddedTokens::ids() const {
  std::vector<int32_t> ids;
  for (const Node& node : nodes_) {
    if (node.id != kNoToken) ids.push_back(node.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

AddedTokens::Match AddedTokens::longest_at(std::string_view text, size_t begin) const {
  Match best = {begin, begin, kNoToken};
  uint32_t node = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    node = follow(node, static_cast<uint8_t>(text[i]));
    if (node == 0) break;
    if (nodes_[node].id != kNoToken) best = {begin, i + 1, nodes_[node].id};
  }
  return best;
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, size_t from) const {
  if (nodes_.size() == 1) return std::nullopt;
  for (size_t begin = from; begin < text.size(); ++begin) {
    const Match match = longest_at(text, begin);
    if (match.id != kNoToken) return match;
  }
  return std::nullopt;
}

}  // namespace rill::text
