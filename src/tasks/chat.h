// SPDX-License-Identifier: Apache-2.0
// Text chat: messages in OpenAI's form to a prompt, and its replies.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tasks/reply_stream.h"
#include "tasks/text_model.h"
#include "tasks/text_options.h"

namespace rill::tasks {

struct ChatRequest {
  Json messages = Json::array();
  Json tools;  ///< null or an array
  TextOptions options;
};

/// A request as the model reads it.
struct ChatPrompt {
  std::string text;
  std::vector<int32_t> tokens;
  bool starts_in_reasoning = false;  ///< the prompt ends with an open <think>
  std::vector<std::string> ignored;  ///< fields that this template does not know
};

/// Renders and encodes the messages. Errors: kInvalidArgument with the path of the fault in the
/// messages or tools, or the template's line.
Result<ChatPrompt> make_chat_prompt(const TextModel& model, const ChatRequest& request);

/// Errors: those of make_chat_prompt and ReplyStream::start.
Result<ReplyStream> start_chat(const TextModel& model, const ChatRequest& request,
                               const TextRun& run);

}  // namespace rill::tasks
