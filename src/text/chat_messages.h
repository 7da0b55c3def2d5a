// SPDX-License-Identifier: Apache-2.0
// Brings chat messages, as clients send them, into the one form that every template of the family
// renders.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace rill::text {

/// The messages with
/// - content always a string: null, absent and [] are empty; text parts ({"type": "text", "text":
/// ...} and bare strings)
///   are joined; an object (a tool result) becomes its JSON text;
/// - tool_calls absent when null or empty, each with a "function" object whose arguments are an
/// object: JSON text is
///   parsed, nothing, "" and null are {};
/// - thinking and reasoning_content equal, if one of them or "reasoning" is a text that is not
/// empty, else absent;
/// - no fields that are null.
/// Other fields and any role stay as they are.
/// Errors: kInvalidArgument with the JSON path of the fault ("messages[2].content[0].type: ...").
Result<Json> normalize_messages(const Json& messages);

/// Checks a tool list: null, or an array of objects and texts. Gives null for an empty one.
/// Errors: kInvalidArgument with the path.
Result<Json> normalize_tools(const Json& tools);

}  // namespace rill::text
