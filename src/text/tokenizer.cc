// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include <algorithm>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/pre_tokenizer.h"

namespace rill::text {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

}  // namespace

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return Error{ErrorCode::kInvalidArgument, cat("encode: got a text of ", text.size(),
                                                  " bytes, expected at most ", kMaxTextBytes)};
  }
  std::vector<int32_t> ids;
  if (options.add_bos) {
    if (!config_.bos_id) {
      return Error{ErrorCode::kInvalidArgument,
                   "encode: the tokenizer has no beginning-of-text token"};
    }
    ids.push_back(*config_.bos_id);
  }
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = to_valid_utf8(text);
    text = repaired;
  }
  BpeEncoder bpe(vocabulary_, merges_);
  encode_added(text, options.parse_special ? 0 : std::size(added_), bpe, ids);
  return ids;
}

void Tokenizer::encode_added(std::string_view text, size_t stage, BpeEncoder& bpe,
                             std::vector<int32_t>& ids) const {
  if (stage == std::size(added_)) {
    encode_plain(text, bpe, ids);
    return;
  }
  size_t begin = 0;
  while (const std::optional<AddedTokens::Match> match = added_[stage].find(text, begin)) {
    encode_added(text.substr(begin, match->begin - begin), stage + 1, bpe, ids);
    ids.push_back(match->id);
    begin = match->end;
  }
  encode_added(text.substr(begin), stage + 1, bpe, ids);
}

void Tokenizer::encode_plain(std::string_view text, BpeEncoder& bpe,
                             std::vector<int32_t>& ids) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = piece_end(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    begin = end;
    const std::optional<int32_t> whole =
        config_.ignore_merges ? vocabulary_.find_piece(piece) : std::nullopt;
    if (whole) {
      ids.push_back(*whole);
    } else {
      bpe.encode(piece, ids);
    }
  }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special,
                              OpenCharacter open_character) const {
  Utf8Stream stream;
  std::string text;
  for (const int32_t id : ids) stream.push(token_bytes(id, skip_special), text);
  stream.finish(open_character, text);
  return text;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  return vocabulary_.has_id(id) ? vocabulary_.bytes(id) : std::string_view();
}

std::string_view Tokenizer::token_bytes(int32_t id, bool skip_special) const {
  if (!vocabulary_.has_id(id)) return {};
  const TokenKind kind = vocabulary_.kind(id);
  const bool is_special = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
  return skip_special && is_special ? std::string_view() : vocabulary_.bytes(id);
}

TokenKind Tokenizer::kind(int32_t id) const {
  return vocabulary_.has_id(id) ? vocabulary_.kind(id) : TokenKind::kUnused;
}

std::vector<int32_t> Tokenizer::end_of_generation_ids() const {
  std::vector<int32_t> ids = config_.other_end_ids;
  if (config_.eos_id) ids.push_back(*config_.eos_id);
  for (const std::string_view entry : {"<|endoftext|>", "<|im_end|>"}) {
    if (const std::optional<int32_t> id = find(entry)) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<std::string_view> Tokenizer::split(std::string_view text) { return split_pieces(text); }

}  // namespace rill::text
