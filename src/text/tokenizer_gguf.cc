// SPDX-License-Identifier: Apache-2.0
// Tokenizer::from_metadata: the tokenizer.ggml.* keys of a GGUF file.
#include "base/str_cat.h"
#include "text/tokenizer.h"
#include "text/tokenizer_builder.h"

namespace rill::text {
namespace {

using format::Metadata;

constexpr const char* kTokensKey = "tokenizer.ggml.tokens";
constexpr const char* kTypesKey = "tokenizer.ggml.token_type";
constexpr const char* kMergesKey = "tokenizer.ggml.merges";

Error at(const Metadata& metadata, std::string_view key, Error error) {
  return std::move(error).with_context(cat(metadata.source(), ": ", key));
}

Status expect_string(const Metadata& metadata, const char* key, std::string_view expected) {
  RILL_ASSIGN_OR_RETURN(const std::string got, metadata.get_string(key));
  if (got == expected) return {};
  return at(metadata, key,
            {ErrorCode::kUnsupported,
             cat("got \"", printable(got), "\", this build knows \"", expected, "\"")});
}

Status expect_false(const Metadata& metadata, const char* key) {
  RILL_ASSIGN_OR_RETURN(const bool got, metadata.get_bool_or(key, false));
  if (!got) return {};
  return at(metadata, key, {ErrorCode::kUnsupported, "got true, this build knows false"});
}

Status add_tokens(const Metadata& metadata, const std::vector<std::string>& tokens,
                  TokenizerBuilder& builder) {
  RILL_ASSIGN_OR_RETURN(const std::vector<int64_t> types, metadata.get_ints(kTypesKey));
  if (types.size() != tokens.size()) {
    return at(metadata, kTypesKey,
              {ErrorCode::kInvalidFormat, cat("got ", types.size(), " types, expected ",
                                              tokens.size(), ", one for each token")});
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (types[i] < 1 || types[i] > 5) {
      return at(metadata, kTypesKey,
                {ErrorCode::kUnsupported,
                 cat("token ", i, ": got type ", types[i], ", expected 1 to 5")});
    }
    const auto id = static_cast<int32_t>(i);
    const auto kind = static_cast<TokenKind>(types[i]);
    Status added = builder.vocabulary().add(id, tokens[i], kind);
    if (added && (kind == TokenKind::kControl || kind == TokenKind::kUserDefined)) {
      added = builder.match_whole(tokens[i], id, 0);
    }
    if (!added) return at(metadata, kTokensKey, std::move(added).error());
  }
  if (Status complete = builder.vocabulary().check_bytes(); !complete) {
    return at(metadata, kTokensKey, std::move(complete).error());
  }
  return {};
}

Status add_merges(const Metadata& metadata, TokenizerBuilder& builder) {
  RILL_ASSIGN_OR_RETURN(const std::vector<std::string> merges, metadata.get_strings(kMergesKey));
  for (size_t i = 0; i < merges.size(); ++i) {
    if (Status added = builder.add_merge(merges[i]); !added) {
      return at(metadata, cat(kMergesKey, "[", i, "]"), std::move(added).error());
    }
  }
  return {};
}

Result<std::optional<int32_t>> read_id(const Metadata& metadata, const char* key,
                                       const Vocabulary& vocabulary) {
  if (!metadata.has(key)) return std::optional<int32_t>();
  RILL_ASSIGN_OR_RETURN(const uint32_t id, metadata.get_u32(key));
  if (id < vocabulary.size()) return std::optional<int32_t>(static_cast<int32_t>(id));
  return at(metadata, key,
            {ErrorCode::kInvalidFormat,
             cat("got id ", id, ", expected one below the vocabulary size ", vocabulary.size())});
}

Status read_config(const Metadata& metadata, TokenizerBuilder& builder) {
  TokenizerConfig& config = builder.config();
  const Vocabulary& vocabulary = builder.vocabulary();
  RILL_ASSIGN_OR_RETURN(config.bos_id,
                        read_id(metadata, "tokenizer.ggml.bos_token_id", vocabulary));
  RILL_ASSIGN_OR_RETURN(config.eos_id,
                        read_id(metadata, "tokenizer.ggml.eos_token_id", vocabulary));
  RILL_ASSIGN_OR_RETURN(config.pad_id,
                        read_id(metadata, "tokenizer.ggml.padding_token_id", vocabulary));
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    RILL_ASSIGN_OR_RETURN(const std::optional<int32_t> id, read_id(metadata, key, vocabulary));
    if (id) config.other_end_ids.push_back(*id);
  }
  RILL_ASSIGN_OR_RETURN(const bool add_bos,
                        metadata.get_bool_or("tokenizer.ggml.add_bos_token", true));
  config.add_bos = add_bos && config.bos_id.has_value();
  config.ignore_merges = true;  // what "lfm2" stands for; GGUF has no key for it
  RILL_RETURN_IF_ERROR(expect_false(metadata, "tokenizer.ggml.add_eos_token"));
  return expect_false(metadata, "tokenizer.ggml.add_space_prefix");
}

}  // namespace

Result<Tokenizer> Tokenizer::from_metadata(const Metadata& metadata) {
  RILL_RETURN_IF_ERROR(expect_string(metadata, "tokenizer.ggml.model", "gpt2"));
  RILL_RETURN_IF_ERROR(expect_string(metadata, "tokenizer.ggml.pre", "lfm2"));
  RILL_ASSIGN_OR_RETURN(const std::vector<std::string> tokens, metadata.get_strings(kTokensKey));
  if (tokens.size() > Vocabulary::kMaxTokens) {
    return at(metadata, kTokensKey,
              {ErrorCode::kUnsupported,
               cat("got ", tokens.size(), " tokens, expected at most ", Vocabulary::kMaxTokens)});
  }
  TokenizerBuilder builder(tokens.size());
  RILL_RETURN_IF_ERROR(add_tokens(metadata, tokens, builder));
  RILL_RETURN_IF_ERROR(add_merges(metadata, builder));
  RILL_RETURN_IF_ERROR(read_config(metadata, builder));
  return builder.take();
}

}  // namespace rill::text
