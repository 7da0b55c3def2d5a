// SPDX-License-Identifier: Apache-2.0
#include "text/bpe.h"

#include <algorithm>
#include <string>

#include "base/str_cat.h"

namespace rill::text {

Status MergeTable::add(const Vocabulary& vocabulary, std::string_view left,
                       std::string_view right) {
  const std::optional<int32_t> left_id = vocabulary.find_entry(left);
  const std::optional<int32_t> right_id = vocabulary.find_entry(right);
  const std::optional<int32_t> joined_id =
      vocabulary.find_entry(std::string(left) + std::string(right));
  if (!left_id || !right_id || !joined_id) {
    const std::string missing = !left_id    ? std::string(left)
                                : !right_id ? std::string(right)
                                            : cat(left, right);
    return Error{ErrorCode::kInvalidFormat,
                 cat("\"", printable(missing), "\" is not in the vocabulary")};
  }
  const auto rank = static_cast<uint32_t>(merges_.size());
  if (!merges_.emplace(key(*left_id, *right_id), Merge{rank, *joined_id}).second) {
    return Error{ErrorCode::kInvalidFormat, cat("the pair \"", printable(left), "\" \"",
                                                printable(right), "\" is listed twice")};
  }
  return {};
}

std::optional<MergeTable::Merge> MergeTable::find(int32_t left, int32_t right) const {
  const auto found = merges_.find(key(left, right));
  if (found == merges_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::array<int32_t, 2>> MergeTable::pairs() const {
  std::vector<std::array<int32_t, 2>> pairs(merges_.size());
  for (const auto& [key, merge] : merges_) {
    pairs[merge.rank] = {static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & 0xffffffff)};
  }
  return pairs;
}

void BpeEncoder::encode(std::string_view piece, std::vector<int32_t>& ids) {
  const auto count = static_cast<int32_t>(piece.size());
  symbols_.resize(piece.size());
  heap_.clear();
  for (int32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(piece[static_cast<size_t>(i)]);
    symbols_[static_cast<size_t>(i)] = {vocabulary_.byte_token(byte), i - 1,
                                        i + 1 < count ? i + 1 : kNone};
  }
  for (int32_t i = 0; i + 1 < count; ++i) propose(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), is_after);
    const Candidate best = heap_.back();
    heap_.pop_back();
    if (is_current(best)) join(best);
  }
  for (int32_t i = count > 0 ? 0 : kNone; i != kNone; i = symbols_[static_cast<size_t>(i)].next) {
    ids.push_back(symbols_[static_cast<size_t>(i)].token);
  }
}

void BpeEncoder::propose(int32_t left_symbol) {
  if (left_symbol == kNone) return;
  const Symbol& left = symbols_[static_cast<size_t>(left_symbol)];
  if (left.next == kNone) return;
  const int32_t right_token = symbols_[static_cast<size_t>(left.next)].token;
  const std::optional<MergeTable::Merge> merge = merges_.find(left.token, right_token);
  if (!merge) return;
  heap_.push_back({merge->rank, left_symbol, left.token, right_token, merge->token});
  std::push_heap(heap_.begin(), heap_.end(), is_after);
}

/// A candidate is stale once one of its two symbols has been joined with another.
bool BpeEncoder::is_current(const Candidate& candidate) const {
  const Symbol& left = symbols_[static_cast<size_t>(candidate.left_symbol)];
  if (left.token != candidate.left_token || left.next == kNone) return false;
  return symbols_[static_cast<size_t>(left.next)].token == candidate.right_token;
}

void BpeEncoder::join(const Candidate& candidate) {
  Symbol& left = symbols_[static_cast<size_t>(candidate.left_symbol)];
  Symbol& right = symbols_[static_cast<size_t>(left.next)];
  left.token = candidate.joined_token;
  left.next = right.next;
  right.token = kNone;
  if (left.next != kNone) symbols_[static_cast<size_t>(left.next)].previous = candidate.left_symbol;
  propose(left.previous);
  propose(candidate.left_symbol);
}

}  // namespace rill::text
