// SPDX-License-Identifier: Apache-2.0
// Tokenizer::from_json: tokenizer.json of the tokenizers library, as far as byte-level BPE of the
// LFM2 family uses it. Whatever would change ids and is not implemented is refused by name.
#include <algorithm>

#include "base/json.h"
#include "base/str_cat.h"
#include "text/tokenizer.h"
#include "text/tokenizer_builder.h"
#include "text/tokenizer_json_fields.h"

namespace rill::text {
namespace {

using json_fields::expect_known_keys;
using json_fields::expect_object;
using json_fields::expect_off;
using json_fields::read_flag;
using json_fields::shown;
using json_fields::type_of;
using json_fields::unsupported;
using json_fields::wrong;

Status check_model(const Json* model) {
  RILL_RETURN_IF_ERROR(expect_object("model", model));
  RILL_RETURN_IF_ERROR(expect_known_keys(
      "model", *model,
      {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
       "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
  if (type_of(model) != "BPE")
    return unsupported("model.type", shown(model->find("type")), "\"BPE\"");
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                          "fuse_unk", "byte_fallback"}) {
    RILL_RETURN_IF_ERROR(expect_off(cat("model.", key), model->find(key)));
  }
  return {};
}

Result<int32_t> read_id(const std::string& field, const Json* value) {
  const auto limit = static_cast<int64_t>(Vocabulary::kMaxTokens);
  if (value != nullptr && value->is_int() && value->as_int() >= 0 && value->as_int() < limit) {
    return static_cast<int32_t>(value->as_int());
  }
  return wrong(field, shown(value), cat("a token id below ", limit));
}

/// One past the largest id in the file.
Result<size_t> count_ids(const Json& vocab, const Json::Array& added) {
  int32_t largest = -1;
  for (const auto& member : vocab.members()) {
    RILL_ASSIGN_OR_RETURN(
        const int32_t id,
        read_id(cat("model.vocab[\"", printable(member.first), "\"]"), &member.second));
    largest = std::max(largest, id);
  }
  for (size_t i = 0; i < added.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(const int32_t id,
                          read_id(cat("added_tokens[", i, "].id"), added[i].find("id")));
    largest = std::max(largest, id);
  }
  return static_cast<size_t>(largest + 1);
}

Status add_vocab(const Json& vocab, TokenizerBuilder& builder) {
  for (const auto& member : vocab.members()) {
    const auto id = static_cast<int32_t>(member.second.as_int());
    if (Status added = builder.vocabulary().add(id, member.first, TokenKind::kNormal); !added) {
      return std::move(added).error().with_context("model.vocab");
    }
  }
  if (Status complete = builder.vocabulary().check_bytes(); !complete) {
    return std::move(complete).error().with_context("model.vocab");
  }
  return {};
}

Status add_merge(const std::string& field, const Json& merge, TokenizerBuilder& builder) {
  Status added;
  if (merge.is_string()) {
    added = builder.add_merge(merge.as_string());
  } else if (merge.is_array() && merge.items().size() == 2 && merge.items()[0].is_string() &&
             merge.items()[1].is_string()) {
    added = builder.add_merge(merge.items()[0].as_string(), merge.items()[1].as_string());
  } else {
    return wrong(field, shown(&merge), "\"a b\" or [\"a\", \"b\"]");
  }
  if (!added) return std::move(added).error().with_context(field);
  return {};
}

Status add_merges(const Json* merges, TokenizerBuilder& builder) {
  if (merges == nullptr || !merges->is_array())
    return wrong("model.merges", shown(merges), "an array");
  for (size_t i = 0; i < merges->items().size(); ++i) {
    RILL_RETURN_IF_ERROR(add_merge(cat("model.merges[", i, "]"), merges->items()[i], builder));
  }
  return {};
}

Status add_added_token(const std::string& field, const Json& token, TokenizerBuilder& builder) {
  RILL_RETURN_IF_ERROR(expect_known_keys(
      field, token, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
  for (const char* key : {"single_word", "lstrip", "rstrip"}) {
    RILL_RETURN_IF_ERROR(expect_off(cat(field, ".", key), token.find(key)));
  }
  const Json* content = token.find("content");
  if (content == nullptr || !content->is_string())
    return wrong(cat(field, ".content"), shown(content), "a string");
  RILL_ASSIGN_OR_RETURN(const bool special, read_flag(field, token, "special"));
  RILL_ASSIGN_OR_RETURN(const bool normalized, read_flag(field, token, "normalized"));
  const auto id = static_cast<int32_t>(token.find("id")->as_int());
  const TokenKind kind = special ? TokenKind::kControl : TokenKind::kUserDefined;
  Status added = builder.vocabulary().add_outside_model(id, content->as_string(), kind);
  // The reference first cuts out the tokens that are not "normalized", then the others from what is
  // left.
  if (added) added = builder.match_whole(content->as_string(), id, normalized ? 1 : 0);
  if (!added) return std::move(added).error().with_context(field);
  return {};
}

Result<TokenizerBuilder> read_vocabulary(const Json& root) {
  const Json* model = root.find("model");
  RILL_RETURN_IF_ERROR(check_model(model));
  const Json* vocab = model->find("vocab");
  RILL_RETURN_IF_ERROR(expect_object("model.vocab", vocab));
  const Json* added = root.find("added_tokens");
  if (added != nullptr && !added->is_array())
    return wrong("added_tokens", shown(added), "an array");
  const Json::Array added_tokens = added == nullptr ? Json::Array() : added->items();
  RILL_ASSIGN_OR_RETURN(const size_t num_tokens, count_ids(*vocab, added_tokens));
  TokenizerBuilder builder(num_tokens);
  RILL_RETURN_IF_ERROR(add_vocab(*vocab, builder));
  RILL_RETURN_IF_ERROR(add_merges(model->find("merges"), builder));
  for (size_t i = 0; i < added_tokens.size(); ++i) {
    RILL_RETURN_IF_ERROR(add_added_token(cat("added_tokens[", i, "]"), added_tokens[i], builder));
  }
  RILL_ASSIGN_OR_RETURN(builder.config().ignore_merges,
                        read_flag("model", *model, "ignore_merges"));
  return builder;
}

Status read_prefix(const Json& root, TokenizerBuilder& builder) {
  RILL_ASSIGN_OR_RETURN(const std::string prefix,
                        json_fields::read_prefix_token(root.find("post_processor")));
  TokenizerConfig& config = builder.config();
  if (!prefix.empty()) {
    config.bos_id = builder.vocabulary().find_entry(prefix);
    if (!config.bos_id)
      return wrong("post_processor", cat("\"", printable(prefix), "\""),
                   "a token of the vocabulary");
  }
  // As in the reference, the post-processor decides, not "add_bos_token" of tokenizer_config.json.
  config.add_bos = !prefix.empty();
  return {};
}

/// A token named in tokenizer_config.json: text, or an object with "content".
Result<std::optional<int32_t>> read_named_token(const Json& config, const std::string& key,
                                                const Vocabulary& vocabulary) {
  const Json* value = config.find(key);
  if (value != nullptr && value->is_object()) value = value->find("content");
  if (value == nullptr || value->is_null()) return std::optional<int32_t>();
  if (!value->is_string()) return wrong(key, shown(value), "a token's text");
  const std::optional<int32_t> id = vocabulary.find_entry(value->as_string());
  if (!id) return wrong(key, shown(value), "a token of the vocabulary");
  return id;
}

/// Tokens that only tokenizer_config.json lists would be added by the reference; published files
/// list none.
Status check_added_tokens_decoder(const Json& config, const Vocabulary& vocabulary) {
  const Json* decoder = config.find("added_tokens_decoder");
  if (decoder == nullptr || !decoder->is_object()) return {};
  for (const auto& member : decoder->members()) {
    const Json* content = member.second.find("content");
    if (content != nullptr && content->is_string() && vocabulary.find_entry(content->as_string()))
      continue;
    return unsupported(cat("added_tokens_decoder[\"", printable(member.first), "\"]"),
                       shown(&member.second), "tokens that tokenizer.json lists too");
  }
  return {};
}

Status read_config(const Json& json, TokenizerBuilder& builder) {
  RILL_RETURN_IF_ERROR(expect_object("top level", &json));
  RILL_RETURN_IF_ERROR(expect_off("add_eos_token", json.find("add_eos_token")));
  RILL_RETURN_IF_ERROR(expect_off("add_prefix_space", json.find("add_prefix_space")));
  const Vocabulary& vocabulary = builder.vocabulary();
  RILL_RETURN_IF_ERROR(check_added_tokens_decoder(json, vocabulary));
  TokenizerConfig& config = builder.config();
  RILL_ASSIGN_OR_RETURN(const std::optional<int32_t> bos,
                        read_named_token(json, "bos_token", vocabulary));
  if (config.add_bos && bos && bos != config.bos_id) {
    return unsupported("bos_token", cat("id ", *bos),
                       cat("the post-processor's token, id ", *config.bos_id));
  }
  if (bos) config.bos_id = bos;
  RILL_ASSIGN_OR_RETURN(config.eos_id, read_named_token(json, "eos_token", vocabulary));
  RILL_ASSIGN_OR_RETURN(config.pad_id, read_named_token(json, "pad_token", vocabulary));
  return {};
}

Result<TokenizerBuilder> read_tokenizer_json(std::string_view text) {
  RILL_ASSIGN_OR_RETURN(const Json root, parse_json(text));
  RILL_RETURN_IF_ERROR(expect_object("top level", &root));
  RILL_RETURN_IF_ERROR(json_fields::check_pipeline(root));
  RILL_ASSIGN_OR_RETURN(TokenizerBuilder builder, read_vocabulary(root));
  RILL_RETURN_IF_ERROR(read_prefix(root, builder));
  return builder;
}

Status read_tokenizer_config_json(std::string_view text, TokenizerBuilder& builder) {
  if (text.empty()) return {};
  RILL_ASSIGN_OR_RETURN(const Json root, parse_json(text));
  return read_config(root, builder);
}

}  // namespace

Result<Tokenizer> Tokenizer::from_json(std::string_view tokenizer_json,
                                       std::string_view tokenizer_config_json,
                                       const std::string& name) {
  Result<TokenizerBuilder> builder = read_tokenizer_json(tokenizer_json);
  if (!builder) return std::move(builder).error().with_context(cat(name, ": tokenizer.json"));
  if (Status config = read_tokenizer_config_json(tokenizer_config_json, *builder); !config) {
    return std::move(config).error().with_context(cat(name, ": tokenizer_config.json"));
  }
  return builder->take();
}

}  // namespace rill::text
