// SPDX-License-Identifier: Apache-2.0
#include "tasks/conversation.h"

#include "audio/log_mel.h"
#include "base/str_cat.h"
#include "tasks/asr.h"
#include "tasks/audio_input.h"

namespace rill::tasks {
namespace {

std::string artifact_name(size_t index, const Artifact& artifact) {
  return cat("input artifact ", index, " (", printable(artifact.id), ")");
}

Error bad(const std::string& message) {
  return Error{ErrorCode::kInvalidArgument, "LFM2-Audio " + message};
}

/// Ids, kinds and order.
Status check_order(std::span<const Artifact> artifacts) {
  for (size_t i = 0; i < artifacts.size(); ++i) {
    const Artifact& artifact = artifacts[i];
    const std::string name = artifact_name(i, artifact);
    const bool is_question = artifact.id == kQuestionId;
    if (!is_question && artifact.id != kReplyId) {
      return bad(cat("takes ", kQuestionId, " and ", kReplyId, " artifacts only, not ", name));
    }
    const char* kind = is_question ? kQuestionKind : kReplyKind;
    if (artifact.kind != kind)
      return bad(cat(name, " must be of kind ", kind, ", not ", printable(artifact.kind)));
    const bool expects_question = i % 2 == 0;
    if (expects_question && !is_question) return bad(name + " has no question before it");
    if (!expects_question && is_question) {
      return bad(name + " follows a question; each question needs its reply after it");
    }
  }
  if (artifacts.size() % 2 != 0) {
    return bad(artifact_name(artifacts.size() - 1, artifacts.back()) +
               " has no reply after it; the new question goes in audio_input");
  }
  return {};
}

Result<std::vector<float>> read_question(const Artifact& artifact, size_t index) {
  auto samples = AudioInput::from_file_bytes(artifact.payload).read_mono_16k();
  const std::string name = artifact_name(index, artifact);
  if (!samples) return bad(cat(name, " does not read as a WAV file: ", samples.error().message));
  if (samples->size() < kMinAudioSamples) return bad(name + " has no audio");
  return samples;
}

}  // namespace

Result<std::vector<ConversationTurn>> read_history(std::span<const Artifact> artifacts,
                                                   const ReplyShape& shape) {
  RILL_RETURN_IF_ERROR(check_order(artifacts));
  for (size_t i = 1; i < artifacts.size(); i += 2)
    RILL_RETURN_IF_ERROR(check_reply_meta(artifacts[i], i, shape));
  std::vector<ConversationTurn> turns;
  for (size_t i = 0; i < artifacts.size(); i += 2) {
    ConversationTurn turn;
    RILL_ASSIGN_OR_RETURN(turn.reply, decode_reply(artifacts[i + 1], i + 1, shape));
    RILL_ASSIGN_OR_RETURN(turn.question, read_question(artifacts[i], i));
    turns.push_back(std::move(turn));
  }
  return turns;
}

Status check_conversation_limit(size_t prompt_steps, size_t max_tokens, bool exact) {
  if (prompt_steps + max_tokens <= kMaxConversationSteps) return {};
  return Error{
      ErrorCode::kContextFull,
      cat("LFM2-Audio conversation needs ", exact ? "" : "at least ", prompt_steps,
          " prompt steps plus max_tokens=", max_tokens, ", more than the ", kMaxConversationSteps,
          " a conversation may take; leave out its oldest turns, or lower max_tokens")};
}

Result<std::vector<int32_t>> conversation_prompt(const model::lfm2_audio::Model& model,
                                                 std::string_view system,
                                                 std::span<const ConversationTurn> history,
                                                 size_t num_audio_steps) {
  std::vector<model::lfm2_audio::ChatTurn> turns;
  for (const ConversationTurn& turn : history) {
    model::lfm2_audio::ChatTurn chat;
    chat.num_audio_steps = audio::audio_steps(turn.question.size());
    for (const ReplyStep& step : turn.reply) {
      chat.reply.push_back(step.is_frame() ? model::lfm2_audio::kFrameStep : step.token);
    }
    turns.push_back(std::move(chat));
  }
  return model::lfm2_audio::chat_prompt(model.tokenizer(), system, turns, num_audio_steps);
}

}  // namespace rill::tasks
