// SPDX-License-Identifier: Apache-2.0
// The portable format: `rill.*` metadata that says which operators, bounds and layouts a GGUF file
// needs, so that a reader refuses a model that it does not fully understand before it reads a
// weight. docs/portable-format.md is the definition. What an operator's tensors are called is a
// table in portable.cc; nothing else here knows a model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/gguf.h"

namespace rill::format {

/// The version that writers state and the major version that this build reads.
inline constexpr std::string_view kPortableVersion = "1.0.0";

/// Checks every `rill.*` key when rill.format_version is present; files without it pass.
/// Errors: kUnsupported (another major version, an unknown operator that is needed, an unknown
/// layout),
///         kInvalidFormat (a key of the wrong type, or one that contradicts the tensors, the
///         architecture's own keys, the alignment, or the tokenizer or template that was hashed).
///         Messages name file, key, found and known.
Status check_portable(const GgufFile& file);

/// The operators that the tensors need, by the names of `rill.ops.*`.
[[nodiscard]] std::vector<std::string_view> operators_of(const GgufFile& file);

/// The same for the names of tensors that are about to be written.
[[nodiscard]] std::vector<std::string_view> operators_of(std::span<const std::string_view> names);

/// Every operator that this build knows.
[[nodiscard]] std::vector<std::string_view> known_operators();

/// Keys under `rill.` that this build does not know and that are therefore ignored (`rill.ops.*`
/// never is): for `inspect`.
[[nodiscard]] std::vector<std::string> unknown_portable_keys(const Metadata& metadata);

}  // namespace rill::format
