// SPDX-License-Identifier: Apache-2.0
// Replies in the shape of OpenAI's API: the choices of a chat completion or of a raw completion,
// whole and as chunks of a stream, and the usage.
#pragma once

#include "base/json.h"
#include "tasks/reply_stream.h"
#include "text/tokenizer.h"

namespace rill::tasks {

enum class ReplyForm { kChat, kCompletion };

/// One element of "choices" of a chunk: index, delta (or text), logprobs, finish_reason. The role
/// comes with a reply's first event, tool ids and names with a call's first piece.
[[nodiscard]] Json event_json(const ReplyEvent& event, ReplyForm shape, uint64_t seed,
                              const text::Tokenizer& tokenizer);

/// {"choices": [...], "usage": {...}} of a whole result.
[[nodiscard]] Json result_json(const ReplyResult& result, ReplyForm shape,
                               const text::Tokenizer& tokenizer);

/// {"prompt_tokens", "completion_tokens", "total_tokens", ...}.
[[nodiscard]] Json usage_json(const TextUsage& usage);

}  // namespace rill::tasks
