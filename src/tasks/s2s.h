// SPDX-License-Identifier: Apache-2.0
// Spoken chat: a spoken question in, a reply of text and speech out, with the turns before it.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "audio/mono.h"
#include "base/result.h"
#include "model/lfm2_audio/package.h"
#include "ops/context.h"
#include "session/prefix_cache.h"
#include "session/sampler.h"
#include "session/sequence.h"
#include "tasks/conversation.h"
#include "tasks/frame_picker.h"
#include "tasks/interleave_schedule.h"
#include "tasks/pass_limit.h"
#include "tasks/question_cache.h"
#include "tasks/speech_options.h"
#include "tasks/speech_writer.h"
#include "tasks/tts.h"
#include "text/incremental_decoder.h"

namespace rill::tasks {

/// What a spoken turn is given, besides the question's audio.
struct S2sRequest {
  std::string system;               ///< "": the default system prompt
  std::vector<Artifact> artifacts;  ///< earlier turns: question, reply, question, reply, ...
  S2sOptions options;
};

/// What a session keeps between the turns of its conversations. Outputs are the same with or
/// without.
struct ConversationCache {
  explicit ConversationCache(size_t slots) : blocks(slots), questions(slots) {}

  session::PrefixCache blocks;
  QuestionCache questions;
};

/// A spoken turn: push the question, then pull the reply. Threading: one thread. Lifetime: model
/// and cache outlive it.
class S2sStream {
 public:
  /// Reads the history and checks what can be checked before the question is there.
  /// Errors: kInvalidArgument (language, history), kContextFull (history), kUnsupported (a package
  /// that does not speak).
  static Result<S2sStream> start(const model::lfm2_audio::Model& model, S2sRequest request,
                                 const SpeechRun& run, double max_pass_duration_s,
                                 ConversationCache* cache);

  /// Adds a piece of the question; all pieces have one format.
  /// Errors: kInvalidArgument (after the reply started, another format, a partial frame, a bad rate
  /// or channel count),
  ///         kInvalidFormat (a sample that is not finite), kContextFull as soon as the pass limit
  ///         is reached.
  Status push_audio(std::span<const float> interleaved, uint32_t channels, uint32_t sample_rate_hz);
  /// The same for audio that is mono at 16 kHz already.
  Status push_mono(std::span<const float> samples);

  /// Instead of the option stream_frames_per_event; before the reply starts.
  void set_frames_per_event(size_t frames) { request_.options.stream_frames_per_event = frames; }
  /// Starts the reply if it has not started, and returns its next event, or nothing at the end.
  /// Errors: kInvalidArgument (no audio), kInternal (a reply without speech), kContextFull,
  /// kCancelled, kOutOfMemory.
  Result<std::optional<SpeechEvent>> next(ops::Context& context);

  // The reply so far.
  [[nodiscard]] const std::vector<ReplyStep>& steps() const { return steps_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] Artifact reply_artifact() const {
    return encode_reply(steps_, ended_, reply_shape(*model_));
  }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] size_t prompt_steps() const { return prompt_steps_; }
  [[nodiscard]] size_t cached_steps() const { return cached_steps_; }
  [[nodiscard]] uint64_t seed() const { return seed_; }
  [[nodiscard]] size_t question_samples() const { return question_.size(); }

 private:
  /// What exists while the reply is made.
  struct Reply {
    session::Sequence sequence;
    FramePicker picker;
    session::Sampler text;
    SpeechWriter writer;
    InterleaveSchedule schedule;
    text::IncrementalDecoder decoder;
    std::string pending_text;
  };

  explicit S2sStream(const model::lfm2_audio::Model& model) : model_(&model) {}
  Status check_question_limit() const;
  Status begin_reply(ops::Context& context);
  Result<session::Sequence> prefill(ops::Context& context);
  void log_kept() const;
  Result<Tensor> encode_question(ops::Context& context, std::span<const float> samples) const;
  Status step(ops::Context& context, bool& event_ready);
  Status text_step(ops::Context& context);
  Status frame_step(ops::Context& context, bool& event_ready);
  Status end_reply(ops::Context& context);
  Result<std::optional<SpeechEvent>> take_event(ops::Context& context);
  [[nodiscard]] bool keeps() const;
  [[nodiscard]] std::string_view system() const;

  const model::lfm2_audio::Model* model_;
  S2sRequest request_;
  SpeechRun run_;
  double max_pass_duration_s_ = kDefaultMaxPassDurationS;
  ConversationCache* cache_ = nullptr;
  uint64_t seed_ = 0;
  std::vector<ConversationTurn> history_;

  std::optional<audio::MonoStream> mono_;
  uint32_t channels_ = 0;
  uint32_t sample_rate_hz_ = 0;
  std::vector<float> question_;  // mono at 16 kHz

  std::optional<Reply> reply_;
  std::vector<ReplyStep> steps_;
  bool generating_ = false;
  bool ended_ = false;     // <|im_end|> came
  bool finished_ = false;  // the last event is out
  size_t prompt_steps_ = 0;
  size_t cached_steps_ = 0;
};

}  // namespace rill::tasks
