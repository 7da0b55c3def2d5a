// SPDX-License-Identifier: Apache-2.0
// rill_tokenizer: text to token ids and back.
#include <span>
#include <string_view>

#include "base/str_cat.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

struct rill_tokens {
  std::vector<int32_t> ids;
};

extern "C" {

rill_status rill_tokenizer_open(const char* path, rill_tokenizer** tokenizer, rill_error** error) {
  if (path == nullptr || tokenizer == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "open tokenizer: path or tokenizer is NULL", error);
  }
  auto opened = tasks::open_tokenizer(path);
  if (!opened) return fail(std::move(opened).error(), error);
  auto handle = std::make_unique<rill_tokenizer>();
  handle->owned = std::make_unique<text::Tokenizer>(std::move(opened).value());
  handle->tokenizer = handle->owned.get();
  *tokenizer = handle.release();
  return RILL_OK;
}

void rill_tokenizer_destroy(rill_tokenizer* tokenizer) { delete tokenizer; }

const int32_t* rill_tokens_data(const rill_tokens* tokens) { return tokens->ids.data(); }

size_t rill_tokens_size(const rill_tokens* tokens) { return tokens->ids.size(); }

void rill_tokens_destroy(rill_tokens* tokens) { delete tokens; }

rill_status rill_tokenize(const rill_tokenizer* tokenizer, const char* text, size_t size,
                          int32_t add_bos, int32_t parse_special, rill_tokens** tokens,
                          rill_error** error) {
  if (tokenizer == nullptr || tokens == nullptr || (text == nullptr && size > 0)) {
    return fail(ErrorCode::kInvalidArgument, "tokenize: tokenizer, text or tokens is NULL", error);
  }
  const text::Tokenizer& t = *tokenizer->tokenizer;
  text::EncodeOptions options;
  options.add_bos = add_bos != 0 && t.add_bos_default() && t.bos_id().has_value();
  options.parse_special = parse_special != 0;
  auto ids = t.encode(std::string_view(text, size), options);
  if (!ids) return fail(std::move(ids).error(), error);
  *tokens = new rill_tokens{std::move(ids).value()};
  return RILL_OK;
}

rill_status rill_detokenize(const rill_tokenizer* tokenizer, const int32_t* tokens, size_t count,
                            int32_t skip_special, rill_string** text, rill_error** error) {
  if (tokenizer == nullptr || text == nullptr || (tokens == nullptr && count > 0)) {
    return fail(ErrorCode::kInvalidArgument, "detokenize: tokenizer, tokens or text is NULL",
                error);
  }
  const std::span<const int32_t> ids(tokens, count);
  const size_t vocab_size = tokenizer->tokenizer->vocab_size();
  for (const int32_t id : ids) {
    if (id >= 0 && static_cast<size_t>(id) < vocab_size) continue;
    return fail(Error{ErrorCode::kInvalidArgument,
                      cat("detokenize: token id: got ", id, ", expected 0 to ", vocab_size - 1)},
                error);
  }
  *text = new rill_string{tokenizer->tokenizer->decode(ids, skip_special != 0)};
  return RILL_OK;
}

const char* rill_token_bytes(const rill_tokenizer* tokenizer, int32_t token, size_t* size) {
  const text::Tokenizer& t = *tokenizer->tokenizer;
  if (token < 0 || static_cast<size_t>(token) >= t.vocab_size()) return nullptr;
  const std::string_view bytes = t.token_bytes(token);
  if (size != nullptr) *size = bytes.size();
  return bytes.data() != nullptr ? bytes.data() : "";
}

}  // extern "C"
