// SPDX-License-Identifier: Apache-2.0
// Checked access to the fields of tokenizer.json, with messages "field: got X, expected Y".
// Internal.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace rill::text::json_fields {

/// A field that contradicts the format, and one that asks for something that is not implemented.
Error wrong(const std::string& field, const std::string& got, const std::string& expected);
Error unsupported(const std::string& field, const std::string& got, const std::string& expected);

/// The value as text for a message; "nothing" for nullptr.
std::string shown(const Json* value);

Status expect_object(const std::string& field, const Json* value);
/// Every key of the object must be in the list, so that no setting goes unseen.
Status expect_known_keys(const std::string& field, const Json& object,
                         std::initializer_list<std::string_view> known);
/// The field must be absent, null, false, zero or empty text.
Status expect_off(const std::string& field, const Json* value);

/// The value of a "type" member, or nothing.
std::string_view type_of(const Json* value);
/// A boolean member; false if it is absent or null.
Result<bool> read_flag(const std::string& field, const Json& object, std::string_view key);

/// The parts of the file around the model: normalizer, pre_tokenizer, decoder, top-level keys.
Status check_pipeline(const Json& root);
/// The text of the token that the post-processor puts in front; empty if there is none.
Result<std::string> read_prefix_token(const Json* processor);

}  // namespace rill::text::json_fields
