// SPDX-License-Identifier: Apache-2.0
// Requests in the shape of OpenAI's API: the body of a chat completion or of a completion as a
// request of the task. Every field is honoured, refused, or listed as ignored.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tasks/chat.h"
#include "tasks/complete.h"

namespace rill::tasks {

/// Adds what the body says to the request. Fields that have no meaning here (user, metadata, store,
/// ...) go into `ignored`; those of the transport (model, stream, stream_options) are left out.
/// Errors: kInvalidArgument (a field of a wrong type, a bad value, an unknown field), kUnsupported
/// (a field that this build cannot honour); the field is named.
Status read_chat_body(const Json& body, ChatRequest& request, std::vector<std::string>& ignored);

/// The same for a completion whose prompt is one text or one list of ids.
Status read_completion_body(const Json& body, CompleteRequest& request,
                            std::vector<std::string>& ignored);

}  // namespace rill::tasks
