// SPDX-License-Identifier: Apache-2.0
#include "convert/tokenizer_keys.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "model/lfm2/load.h"
#include "text/tokenizer.h"

namespace rill::convert {
namespace {

using format::Metadata;
using text::TokenKind;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Result<std::string> read_text(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> read_text_if_there(const std::string& path) {
  return exists(path) ? read_text(path) : Result<std::string>(std::string());
}

/// Null where there is no such file.
Result<Json> read_json_if_there(const std::string& path) {
  return exists(path) ? model::lfm2::read_json_file(path) : Result<Json>(Json());
}

Error wrong(const std::string& path, std::string_view key, const std::string& got,
            std::string_view expected) {
  return Error{ErrorCode::kInvalidFormat,
               cat("convert: ", path, ": ", key, ": got ", got, ", expected ", expected)};
}

/// Tokens by id, as GGUF lists them.
struct TokenLists {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;

  void set(const Json& id, const std::string& token, TokenKind kind) {
    const auto index = static_cast<size_t>(id.as_int());
    tokens[index] = token;
    types[index] = static_cast<int32_t>(kind);
  }
};

/// `root` has passed Tokenizer::from_json, so its fields have the right types.
TokenLists list_tokens(const Json& root, size_t count) {
  TokenLists lists;
  for (size_t i = 0; i < count; ++i) {
    lists.tokens.push_back(cat("[PAD", i, "]"));
    lists.types.push_back(static_cast<int32_t>(TokenKind::kUnused));
  }
  for (const auto& [token, id] : root.find("model")->find("vocab")->members()) {
    lists.set(id, token, TokenKind::kNormal);
  }
  const Json* added = root.find("added_tokens");
  if (added == nullptr || !added->is_array()) return lists;
  for (const Json& token : added->items()) {
    const Json* special = token.find("special");
    const bool control = special != nullptr && special->is_bool() && special->as_bool();
    lists.set(*token.find("id"), token.find("content")->as_string(),
              control ? TokenKind::kControl : TokenKind::kUserDefined);
  }
  return lists;
}

std::vector<std::string> list_merges(const Json& root) {
  std::vector<std::string> merges;
  for (const Json& merge : root.find("model")->find("merges")->items()) {
    merges.push_back(merge.is_string()
                         ? merge.as_string()
                         : cat(merge.items()[0].as_string(), " ", merge.items()[1].as_string()));
  }
  return merges;
}

void set_id(const char* name, std::optional<int32_t> id, Metadata& metadata) {
  if (!id) return;
  metadata.set(cat("tokenizer.ggml.", name, "_token_id"),
               format::metadata_u32(static_cast<uint32_t>(*id)));
}

/// The file's ids where tokenizer_config.json names the tokens, else those of config.json.
Status set_special_ids(const std::string& directory, const text::Tokenizer& tokenizer,
                       Metadata& metadata) {
  const std::string path = directory + "/config.json";
  RILL_ASSIGN_OR_RETURN(const Json config, read_json_if_there(path));
  const Json* inner = config.find("lfm");
  const auto fallback = [&](const char* key, std::optional<int32_t> id) {
    if (id) return id;
    const Json* value = (inner != nullptr ? *inner : config).find(key);
    if (value != nullptr && value->is_array() && !value->items().empty())
      value = &value->items()[0];
    const bool fits = value != nullptr && value->is_int() && value->as_int() >= 0 &&
                      static_cast<uint64_t>(value->as_int()) < tokenizer.vocab_size();
    return fits ? std::optional<int32_t>(static_cast<int32_t>(value->as_int())) : std::nullopt;
  };
  set_id("bos", fallback("bos_token_id", tokenizer.bos_id()), metadata);
  set_id("eos", fallback("eos_token_id", tokenizer.eos_id()), metadata);
  set_id("padding", fallback("pad_token_id", tokenizer.pad_id()), metadata);
  return {};
}

/// GGUF has one flag for what tokenizer.json says by its post-processor and older files by
/// add_bos_token.
bool adds_bos(const text::Tokenizer& tokenizer, const Json& config) {
  const Json* flag = config.find("add_bos_token");
  return tokenizer.add_bos_default() || (flag != nullptr && flag->is_bool() && flag->as_bool());
}

void note_ignore_merges(const Json& root, std::vector<std::string>& notes) {
  const Json* flag = root.find("model")->find("ignore_merges");
  if (flag != nullptr && flag->is_bool() && flag->as_bool()) return;
  notes.push_back(
      "tokenizer.json does not set ignore_merges, but readers of GGUF's lfm2 pre-tokenizer always "
      "do: a word that is a token without merges to it is encoded as that token");
}

/// The template's text. Several named ones: "default" is the template, the others keep their names.
Status set_config_template(const std::string& path, const Json& value, Metadata& metadata) {
  if (value.is_string()) {
    metadata.set("tokenizer.chat_template", format::metadata_string(value.as_string()));
    return {};
  }
  constexpr char kExpected[] = "text, or an array of {name, template}";
  if (!value.is_array()) return wrong(path, "chat_template", printable(value.dump()), kExpected);
  std::vector<std::string> names;
  for (const Json& item : value.items()) {
    const Json* name = item.find("name");
    const Json* text = item.find("template");
    if (name == nullptr || !name->is_string() || text == nullptr || !text->is_string()) {
      return wrong(path, "chat_template", printable(item.dump()), kExpected);
    }
    const bool is_default = name->as_string() == "default";
    metadata.set(
        is_default ? "tokenizer.chat_template" : cat("tokenizer.chat_template.", name->as_string()),
        format::metadata_string(text->as_string()));
    if (!is_default) names.push_back(name->as_string());
  }
  if (!names.empty()) {
    metadata.set("tokenizer.chat_templates", format::metadata_strings(std::move(names)));
  }
  return {};
}

Status set_generation_keys(const std::string& path, Metadata& metadata) {
  RILL_ASSIGN_OR_RETURN(const Json config, read_json_if_there(path));
  for (const char* key : {"temperature", "top_k", "top_p", "min_p", "repetition_penalty"}) {
    const Json* value = config.find(key);
    if (value == nullptr || value->is_null()) continue;
    if (!value->is_number() || value->as_double() < 0 || value->as_double() > 1e6) {
      return wrong(path, key, printable(value->dump()), "a number from 0 to 1000000");
    }
    const double number = value->as_double();
    const bool whole = std::string_view(key) == "top_k";
    metadata.set(cat("rill.generation.chat.", key),
                 whole ? format::metadata_u32(static_cast<uint32_t>(number))
                       : format::metadata_f32(static_cast<float>(number)));
  }
  return {};
}

}  // namespace

Status add_tokenizer_keys(const std::string& directory, size_t vocab_size, Metadata& metadata,
                          std::vector<std::string>& notes) {
  const std::string path = directory + "/tokenizer.json";
  RILL_ASSIGN_OR_RETURN(const std::string json, read_text(path));
  RILL_ASSIGN_OR_RETURN(const std::string config_json,
                        read_text_if_there(directory + "/tokenizer_config.json"));
  RILL_ASSIGN_OR_RETURN(const text::Tokenizer tokenizer,
                        text::Tokenizer::from_json(json, config_json, directory));
  if (tokenizer.vocab_size() > vocab_size) {
    return wrong(path, "tokens", cat(tokenizer.vocab_size(), " tokens"),
                 cat("at most vocab_size of config.json, ", vocab_size));
  }
  RILL_ASSIGN_OR_RETURN(const Json root, parse_json(json));
  RILL_ASSIGN_OR_RETURN(const Json config,
                        config_json.empty() ? Result<Json>(Json()) : parse_json(config_json));
  TokenLists lists = list_tokens(root, vocab_size);
  metadata.set("tokenizer.ggml.model", format::metadata_string("gpt2"));
  metadata.set("tokenizer.ggml.pre", format::metadata_string("lfm2"));
  metadata.set("tokenizer.ggml.tokens", format::metadata_strings(std::move(lists.tokens)));
  metadata.set("tokenizer.ggml.token_type", format::metadata_i32s(lists.types));
  metadata.set("tokenizer.ggml.merges", format::metadata_strings(list_merges(root)));
  RILL_RETURN_IF_ERROR(set_special_ids(directory, tokenizer, metadata));
  metadata.set("tokenizer.ggml.add_bos_token", format::metadata_bool(adds_bos(tokenizer, config)));
  note_ignore_merges(root, notes);
  // What was written must be readable.
  RILL_RETURN_IF_ERROR(text::Tokenizer::from_metadata(metadata));
  return {};
}

Status add_chat_keys(const std::string& directory, Metadata& metadata) {
  const std::string template_path = directory + "/chat_template.jinja";
  const std::string config_path = directory + "/tokenizer_config.json";
  if (exists(template_path)) {
    RILL_ASSIGN_OR_RETURN(std::string text, read_text(template_path));
    metadata.set("tokenizer.chat_template", format::metadata_string(std::move(text)));
  } else {
    RILL_ASSIGN_OR_RETURN(const Json config, read_json_if_there(config_path));
    const Json* value = config.find("chat_template");
    if (value != nullptr && !value->is_null()) {
      RILL_RETURN_IF_ERROR(set_config_template(config_path, *value, metadata));
    }
  }
  return set_generation_keys(directory + "/generation_config.json", metadata);
}

}  // namespace rill::convert
