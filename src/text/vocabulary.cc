// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary.h"

#include "base/str_cat.h"
#include "text/byte_alphabet.h"

namespace rill::text {

Status Vocabulary::place(int32_t id, std::string_view entry, TokenKind kind) {
  if (!has_id(id)) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("id ", id, " is outside the vocabulary of ", size(), " tokens")};
  }
  if (entry.empty()) return Error{ErrorCode::kInvalidFormat, cat("token ", id, ": empty text")};
  Token& token = tokens_[static_cast<size_t>(id)];
  if (token.kind != TokenKind::kUnused) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("id ", id, " is given to two tokens, one of them \"", printable(entry), "\"")};
  }
  const auto [position, inserted] = entries_.emplace(std::string(entry), id);
  if (!inserted) {
    return Error{ErrorCode::kInvalidFormat, cat("tokens ", position->second, " and ", id,
                                                " have the same text \"", printable(entry), "\"")};
  }
  token.bytes = std::string(entry);
  token.kind = kind;
  return {};
}

Status Vocabulary::add(int32_t id, std::string_view entry, TokenKind kind) {
  if (kind == TokenKind::kUnused && has_id(id)) return {};
  RILL_RETURN_IF_ERROR(place(id, entry, kind));
  std::optional<std::string> bytes = alphabet_to_bytes(entry);
  if (!bytes) return {};
  pieces_.emplace(*bytes, id);
  if (bytes->size() == 1) byte_tokens_[static_cast<uint8_t>((*bytes)[0])] = id;
  if (kind == TokenKind::kNormal) tokens_[static_cast<size_t>(id)].bytes = *std::move(bytes);
  return {};
}

Status Vocabulary::add_outside_model(int32_t id, std::string_view text, TokenKind kind) {
  if (find_entry(text) != std::optional<int32_t>(id)) return place(id, text, kind);
  Token& token = tokens_[static_cast<size_t>(id)];
  token.kind = kind;
  token.bytes = std::string(text);
  return {};
}

Status Vocabulary::check_bytes() const {
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    if (byte_tokens_[byte] < 0) {
      return Error{ErrorCode::kInvalidFormat, cat("no token stands for the byte ", byte)};
    }
  }
  return {};
}

std::optional<int32_t> Vocabulary::find_entry(std::string_view entry) const {
  const auto found = entries_.find(entry);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

std::optional<int32_t> Vocabulary::find_piece(std::string_view bytes) const {
  const auto found = pieces_.find(bytes);
  if (found == pieces_.end()) return std::nullopt;
  return found->second;
}

}  // namespace rill::text
