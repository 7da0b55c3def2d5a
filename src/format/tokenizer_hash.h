// SPDX-License-Identifier: Apache-2.0
// The canonical form of a tokenizer, and its hash: equal hashes mean that equal text gives equal
// ids. docs/portable-format.md writes the form down.
#pragma once

#include <string>

#include "base/result.h"
#include "format/metadata.h"

namespace rill::format {

/// Lower-case hex SHA-256 of the canonical form of the file's tokenizer.
/// Errors: kNotFound (no tokenizer.ggml.tokens), kInvalidFormat (a tokenizer key of another type
/// than the form has).
Result<std::string> tokenizer_sha256(const Metadata& metadata);

/// Lower-case hex SHA-256 of the bytes of tokenizer.chat_template. Errors: kNotFound,
/// kInvalidFormat (no string).
Result<std::string> chat_template_sha256(const Metadata& metadata);

}  // namespace rill::format
