// SPDX-License-Identifier: Apache-2.0
// Tokenizer::content_hash: one number for everything that gives ids their meaning.
#include "base/sha256.h"
#include "text/tokenizer.h"

namespace rill::text {
namespace {

/// Numbers in little endian and texts with their lengths, hashed in large pieces. Vocabularies have
/// at most 2^22 tokens.
class Fields {
 public:
  void number(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) buffer_ += static_cast<char>(value >> shift & 255);
  }
  void count(size_t value) { number(static_cast<uint32_t>(value)); }
  void text(std::string_view value) {
    count(value.size());
    buffer_ += value;
    if (buffer_.size() < kPiece) return;
    hash_.update(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
  }
  std::string finish() {
    hash_.update(std::as_bytes(std::span(buffer_)));
    return to_hex(hash_.finish());
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 16;
  Sha256 hash_;
  std::string buffer_;
};

}  // namespace

std::string Tokenizer::content_hash() const {
  Fields fields;
  // The one pre-tokenizer that there is; others would have names of their own.
  fields.text(config_.ignore_merges ? "lfm2, whole pieces" : "lfm2");
  fields.count(vocabulary_.size());
  for (size_t i = 0; i < vocabulary_.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const TokenKind kind = vocabulary_.kind(id);
    fields.text(kind == TokenKind::kUnused ? "" : vocabulary_.bytes(id));
    fields.number(static_cast<uint32_t>(kind));
  }
  fields.count(merges_.size());
  for (const auto& [left, right] : merges_.pairs()) {
    fields.number(static_cast<uint32_t>(left));
    fields.number(static_cast<uint32_t>(right));
  }
  for (const AddedTokens& added : added_) {
    const std::vector<int32_t> ids = added.ids();
    fields.count(ids.size());
    for (const int32_t id : ids) fields.number(static_cast<uint32_t>(id));
  }
  return fields.finish();
}

}  // namespace rill::text
