// SPDX-License-Identifier: Apache-2.0
// SpeechStream: a task that speaks, whichever it is, and the result that its events add up to.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ops/context.h"
#include "tasks/s2s.h"
#include "tasks/transcript.h"
#include "tasks/tts.h"

namespace rill::tasks {

/// The sum of a stream's events, with what the task adds at its end.
struct SpeechResult {
  std::string text;        ///< of a spoken reply
  std::vector<float> pcm;  ///< mono at model::detokenizer::kSampleRateHz
  std::vector<Artifact> artifacts;
  StopReason stop_reason = StopReason::kEos;
  double input_audio_s = 0;
  double wall_s = 0;
  size_t prompt_steps = 0;
  size_t cached_steps = 0;
  size_t generated_steps = 0;  ///< frames, and text tokens of a reply
  uint64_t seed = 0;
};

/// Threading: one thread. Lifetime: as the streams that it holds.
class SpeechStream {
 public:
  explicit SpeechStream(TtsStream stream) : stream_(std::move(stream)) {}
  SpeechStream(S2sStream stream, bool return_codes)
      : stream_(std::move(stream)), return_codes_(return_codes) {}

  /// For whoever wants the whole only: events come as rarely as they can, and the same samples cost
  /// less. Before the first event.
  void gather_events();
  /// Errors: kInvalidArgument if the task takes no audio; those of S2sStream::push_audio.
  Status push_audio(std::span<const float> interleaved, uint32_t channels, uint32_t sample_rate_hz);
  /// Errors: those of the task's next().
  Result<std::optional<SpeechEvent>> next(ops::Context& context);
  /// What has come so far; whole once next() returned nothing.
  [[nodiscard]] SpeechResult result() const;

 private:
  std::variant<TtsStream, S2sStream> stream_;
  bool return_codes_ = false;
  bool finished_ = false;
  std::string text_;
  std::vector<float> pcm_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rill::tasks
