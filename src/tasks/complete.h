// SPDX-License-Identifier: Apache-2.0
// Raw completion: a text, or token ids, and what the model goes on with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tasks/reply_stream.h"
#include "tasks/text_model.h"
#include "tasks/text_options.h"

namespace rill::tasks {

struct CompleteRequest {
  std::string prompt;                          ///< read with the beginning-of-text token in front
  std::optional<std::vector<int32_t>> tokens;  ///< instead of the text, exactly as they are
  TextOptions options;
};

/// Errors: kInvalidArgument (chat's options), those of Tokenizer::encode and ReplyStream::start.
Result<ReplyStream> start_completion(const TextModel& model, const CompleteRequest& request,
                                     const TextRun& run);

}  // namespace rill::tasks
