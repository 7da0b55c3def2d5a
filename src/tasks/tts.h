// SPDX-License-Identifier: Apache-2.0
// Speech synthesis: text in, speech out. Long text is cut into chunks; each is a turn of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "model/lfm2_audio/package.h"
#include "ops/context.h"
#include "session/sequence.h"
#include "tasks/frame_picker.h"
#include "tasks/speech_options.h"
#include "tasks/speech_writer.h"

namespace rill::tasks {

/// What is to be spoken.
struct TtsRequest {
  std::string text;
  std::string voice;  ///< us_male (default), us_female, uk_male, uk_female; a Japanese checkpoint
                      ///< takes none
  TtsOptions options;
};

/// What a run is embedded in.
struct SpeechRun {
  const Logger* logger = nullptr;             ///< warnings; may be null
  const std::atomic<bool>* cancel = nullptr;  ///< may be null
};

/// A speech that is pulled event by event. Threading: one thread. Lifetime: the model outlives it.
class TtsStream {
 public:
  /// Checks the request and cuts the text. Nothing is computed yet.
  /// Errors: kInvalidArgument (no text, ill-formed UTF-8, voice, language), kUnsupported (a package
  /// that was not loaded
  ///         to speak).
  static Result<TtsStream> start(const model::lfm2_audio::Model& model, const TtsRequest& request,
                                 const SpeechRun& run);

  /// Instead of the option stream_frames_per_event; from the next piece of text on.
  void set_frames_per_event(size_t frames) { options_.stream_frames_per_event = frames; }
  /// The next event, or nothing at the end. Events carry stream_frames_per_event frames (80 ms
  /// each); a chunk ends with its last 20 ms. Errors: kInternal (the model did not speak),
  /// kContextFull, kCancelled, kOutOfMemory.
  Result<std::optional<SpeechEvent>> next(ops::Context& context);

  [[nodiscard]] size_t num_chunks() const { return chunks_.size(); }
  [[nodiscard]] bool truncated() const { return truncated_; }
  [[nodiscard]] size_t prompt_steps() const { return prompt_steps_; }
  [[nodiscard]] size_t frames() const { return frames_; }
  [[nodiscard]] uint64_t seed() const { return seed_; }

 private:
  /// The chunk that is being spoken.
  struct Turn {
    session::Sequence sequence;
    FramePicker picker;
    SpeechWriter writer;
    size_t counted_frames = 0;  // spoken and skipped ones
    bool ended = false;
  };

  explicit TtsStream(const model::lfm2_audio::Model& model) : model_(&model) {}
  Status begin_turn(ops::Context& context);
  Status write_text(ops::Context& context, session::Sequence& sequence) const;
  Status step(ops::Context& context, bool& event_ready);
  Status end_turn(ops::Context& context, bool cut_off);

  const model::lfm2_audio::Model* model_;
  SpeechRun run_;
  TtsOptions options_;
  model::lfm2_audio::Voice voice_ = model::lfm2_audio::Voice::kUsMale;
  uint64_t seed_ = 0;
  std::vector<std::string> chunks_;
  size_t next_chunk_ = 0;
  std::optional<Turn> turn_;
  bool truncated_ = false;
  size_t prompt_steps_ = 0;
  size_t frames_ = 0;
};

}  // namespace rill::tasks
