// SPDX-License-Identifier: Apache-2.0
// The rule that a request's reply follows: a response format, or that a tool is called.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "tasks/reply_stream.h"
#include "tasks/text_model.h"
#include "tasks/text_options.h"

namespace rill::tasks {

/// Null when the request has no rule. Errors: kInvalidArgument (tool_choice without such a tool, a
/// rule that is ill-formed), kUnsupported (a keyword that this build does not know), with its path.
Result<std::shared_ptr<const ReplyRuleFactory>> make_reply_rule(const TextModel& model,
                                                                const TextOptions& options,
                                                                const Json& tools);

}  // namespace rill::tasks
