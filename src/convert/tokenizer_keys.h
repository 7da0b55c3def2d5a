// SPDX-License-Identifier: Apache-2.0
// The tokenizer, the chat template and the generation defaults of a Transformers checkpoint, as
// GGUF metadata.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/metadata.h"

namespace rill::convert {

/// Adds tokenizer.ggml.* from tokenizer.json and tokenizer_config.json of a directory. Ids below
/// vocab_size that the tokenizer leaves out become unused tokens.
/// `notes` receives what the user should know.
/// Errors: kNotFound (no tokenizer.json); those of text::Tokenizer::from_json (another kind of
///         tokenizer); kInvalidFormat (more tokens than vocab_size).
Status add_tokenizer_keys(const std::string& directory, size_t vocab_size,
                          format::Metadata& metadata, std::vector<std::string>& notes);

/// Adds tokenizer.chat_template from chat_template.jinja or else tokenizer_config.json, and
/// rill.generation.chat.* from generation_config.json; nothing where the files are absent.
/// Errors: kInvalidFormat, naming file and key.
Status add_chat_keys(const std::string& directory, format::Metadata& metadata);

}  // namespace rill::convert
