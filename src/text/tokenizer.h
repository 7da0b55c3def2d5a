// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back, for the byte-level BPE vocabularies of the LFM2 family,
// from a GGUF file's metadata or from tokenizer.json. Added tokens are cut out first, the rest is
// split into pieces (pre_tokenizer.h) and each piece is merged (bpe.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/metadata.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/utf8_stream.h"
#include "text/vocabulary.h"

namespace rill::text {

struct EncodeOptions {
  bool add_bos = false;  ///< put the beginning-of-text token in front
  bool parse_special =
      true;  ///< read added tokens ("<|im_start|>") as tokens; false: as plain text
};

/// What a tokenizer file says, besides the vocabulary.
struct TokenizerConfig {
  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
  std::optional<int32_t> pad_id;
  std::vector<int32_t> other_end_ids;  ///< further tokens that end a turn
  bool add_bos = true;
  bool ignore_merges = false;  ///< a piece that is a vocabulary entry is taken whole
};

/// Immutable after creation. Threading: any number of threads at once.
class Tokenizer {
 public:
  /// From the tokenizer.ggml.* keys: model gpt2, pre lfm2.
  /// Errors: kNotFound, kInvalidFormat, kUnsupported, each naming the key.
  static Result<Tokenizer> from_metadata(const format::Metadata& metadata);

  /// From the text of tokenizer.json and, unless empty, of tokenizer_config.json; `name` starts the
  /// messages. Errors: kInvalidFormat, kUnsupported, each naming the field.
  static Result<Tokenizer> from_json(std::string_view tokenizer_json,
                                     std::string_view tokenizer_config_json,
                                     const std::string& name);

  /// Ids of a text; ill-formed UTF-8 counts as U+FFFD, one for each maximal subpart.
  /// Errors: kInvalidArgument: add_bos without such a token, or a text above 1 GiB.
  /// Cost: n log n in the bytes of the longest piece, linear in the number of pieces.
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  /// Text of ids: their bytes, read as UTF-8 with U+FFFD for each ill-formed part. Unknown ids and
  /// unused tokens give nothing; skip_special leaves out control tokens.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool skip_special,
                                   OpenCharacter open_character = OpenCharacter::kReplace) const;

  /// The bytes that decode() takes for one id; often not whole characters.
  [[nodiscard]] std::string_view token_bytes(int32_t id) const;
  /// The same, but empty for control tokens if skip_special.
  [[nodiscard]] std::string_view token_bytes(int32_t id, bool skip_special) const;
  /// Unknown ids are kUnused.
  [[nodiscard]] TokenKind kind(int32_t id) const;
  /// The token written like this in the file: plain text for added tokens ("<|im_end|>").
  [[nodiscard]] std::optional<int32_t> find(std::string_view entry) const {
    return vocabulary_.find_entry(entry);
  }

  [[nodiscard]] size_t vocab_size() const { return vocabulary_.size(); }
  [[nodiscard]] std::optional<int32_t> bos_id() const { return config_.bos_id; }
  [[nodiscard]] std::optional<int32_t> eos_id() const { return config_.eos_id; }
  [[nodiscard]] std::optional<int32_t> pad_id() const { return config_.pad_id; }
  /// Whether the file asks for the beginning-of-text token in front of plain text (chat templates
  /// print it).
  [[nodiscard]] bool add_bos_default() const { return config_.add_bos; }
  /// Tokens that end a reply: the file's eos and end-of-turn ids, <|endoftext|> and <|im_end|>;
  /// ascending.
  [[nodiscard]] std::vector<int32_t> end_of_generation_ids() const;

  /// SHA-256 of all that decides which ids a text becomes and what text ids are: tokens with their
  /// kinds, merges, tokens matched whole, the way text is cut into pieces. In hex. Cost: a pass
  /// over vocabulary and merges, for 65536 tokens about 10 ms.
  [[nodiscard]] std::string content_hash() const;

  /// The pieces inside which merges happen, as views of `text`, which must be well-formed UTF-8.
  [[nodiscard]] static std::vector<std::string_view> split(std::string_view text);

 private:
  friend class TokenizerBuilder;

  Tokenizer() = default;
  void encode_added(std::string_view text, size_t stage, BpeEncoder& bpe,
                    std::vector<int32_t>& ids) const;
  void encode_plain(std::string_view text, BpeEncoder& bpe, std::vector<int32_t>& ids) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  AddedTokens added_[2];  // matched one after the other: exact tokens, then those matched in
                          // normalised text
  TokenizerConfig config_;
};

}  // namespace rill::text
