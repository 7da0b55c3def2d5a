// SPDX-License-Identifier: Apache-2.0
#include "format/tokenizer_hash.h"

#include "base/sha256.h"

namespace rill::format {
namespace {

// What kind of value a field of the canonical form has.
enum class Kind { kString, kStrings, kInts, kId, kFlag };

struct Field {
  std::string_view key;
  Kind kind;
};

// The order is part of the form (docs/portable-format.md). Append only: a new field changes every
// hash.
constexpr Field kFields[] = {
    {"tokenizer.ggml.model", Kind::kString},
    {"tokenizer.ggml.pre", Kind::kString},
    {"tokenizer.ggml.tokens", Kind::kStrings},
    {"tokenizer.ggml.token_type", Kind::kInts},
    {"tokenizer.ggml.merges", Kind::kStrings},
    {"tokenizer.ggml.bos_token_id", Kind::kId},
    {"tokenizer.ggml.eos_token_id", Kind::kId},
    {"tokenizer.ggml.eot_token_id", Kind::kId},
    {"tokenizer.ggml.unknown_token_id", Kind::kId},
    {"tokenizer.ggml.padding_token_id", Kind::kId},
    {"tokenizer.ggml.add_bos_token", Kind::kFlag},
    {"tokenizer.ggml.add_eos_token", Kind::kFlag},
    {"tokenizer.ggml.add_space_prefix", Kind::kFlag},
};

class FormHash {
 public:
  void text(std::string_view text) {
    number(text.size());
    hash_.update({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  }

  void number(uint64_t value) {
    std::byte bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
    hash_.update(bytes);
  }

  std::string finish() { return to_hex(hash_.finish()); }

 private:
  Sha256 hash_;
};

Status add_field(const Metadata& metadata, const Field& field, FormHash& hash) {
  switch (field.kind) {
    case Kind::kString: {
      RILL_ASSIGN_OR_RETURN(const std::string value, metadata.get_string(field.key));
      hash.text(value);
      break;
    }
    case Kind::kStrings: {
      RILL_ASSIGN_OR_RETURN(const std::vector<std::string> values, metadata.get_strings(field.key));
      hash.number(values.size());
      for (const std::string& value : values) hash.text(value);
      break;
    }
    case Kind::kInts: {
      RILL_ASSIGN_OR_RETURN(const std::vector<int64_t> values, metadata.get_ints(field.key));
      hash.number(values.size());
      for (int64_t value : values) hash.number(static_cast<uint64_t>(value));
      break;
    }
    case Kind::kId: {
      RILL_ASSIGN_OR_RETURN(const uint32_t value, metadata.get_u32(field.key));
      hash.number(value);
      break;
    }
    case Kind::kFlag: {
      RILL_ASSIGN_OR_RETURN(const bool value, metadata.get_bool(field.key));
      hash.number(value ? 1 : 0);
      break;
    }
  }
  return {};
}

}  // namespace

Result<std::string> tokenizer_sha256(const Metadata& metadata) {
  RILL_RETURN_IF_ERROR(metadata.get_strings("tokenizer.ggml.tokens"));
  FormHash hash;
  hash.text("rill tokenizer 1");
  for (const Field& field : kFields) {
    if (!metadata.has(field.key)) continue;
    hash.text(field.key);
    RILL_RETURN_IF_ERROR(add_field(metadata, field, hash));
  }
  return hash.finish();
}

Result<std::string> chat_template_sha256(const Metadata& metadata) {
  RILL_ASSIGN_OR_RETURN(const std::string text, metadata.get_string("tokenizer.chat_template"));
  return sha256_hex({reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

}  // namespace rill::format
