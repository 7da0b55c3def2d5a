// SPDX-License-Identifier: Apache-2.0
// The earlier turns of a spoken conversation, from a request's artifacts, and the limit on how long
// it may get.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/lfm2_audio/package.h"
#include "tasks/reply_artifact.h"

namespace rill::tasks {

/// A question and what was replied to it.
struct ConversationTurn {
  std::vector<float> question;  ///< mono at 16 kHz
  std::vector<ReplyStep> reply;
};

/// Steps that prompt and reply of a conversation may take together.
inline constexpr size_t kMaxConversationSteps = 8192;

/// Reads the artifacts of a request: question, reply, question, reply, ...
/// Errors: kInvalidArgument: artifacts out of turn, other ids or kinds, a reply that
/// check_reply_meta or decode_reply refuses, a question that does not read as a WAV file or holds
/// no audio (spec: audio, section 20.3).
Result<std::vector<ConversationTurn>> read_history(std::span<const Artifact> artifacts,
                                                   const ReplyShape& shape);

/// Holds a conversation with history to kMaxConversationSteps. `exact` is false while the new
/// question is not known yet. Errors: kContextFull.
Status check_conversation_limit(size_t prompt_steps, size_t max_tokens, bool exact);

/// The prompt of the next turn: token ids, kAudioStep and kFrameStep; the question has
/// num_audio_steps steps.
Result<std::vector<int32_t>> conversation_prompt(const model::lfm2_audio::Model& model,
                                                 std::string_view system,
                                                 std::span<const ConversationTurn> history,
                                                 size_t num_audio_steps);

}  // namespace rill::tasks
