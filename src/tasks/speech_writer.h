// SPDX-License-Identifier: Apache-2.0
// SpeechWriter: spoken frames to events of PCM. Offline speech is the sum of the events, so that
// streamed and offline bytes are equal by construction. The frames of an event are decoded
// together: one pass over the detokenizer's weights serves them all, and changes no bit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/detokenizer/detokenizer.h"
#include "ops/context.h"

namespace rill::tasks {

/// What a stream hands over: text first, then the audio that speaks it; either may be empty.
struct SpeechEvent {
  std::string text;        ///< whole characters
  std::vector<float> pcm;  ///< mono at model::detokenizer::kSampleRateHz, not clipped
};

/// Threading: one thread. Lifetime: the detokenizer outlives it.
class SpeechWriter {
 public:
  /// Frames that are decoded together at most; more of them would gain little.
  static constexpr size_t kFramesTogether = 16;

  /// Errors: kOutOfMemory.
  static Result<SpeechWriter> create(const model::detokenizer::Detokenizer& detokenizer,
                                     size_t frames_per_event);

  /// Takes a spoken frame; true if an event's worth of audio is ready.
  Result<bool> push(ops::Context& context, std::span<const int32_t> codes);
  /// The audio since the last call. Errors: those of the detokenizer.
  Result<std::vector<float>> take_pcm(ops::Context& context);
  /// Makes the last samples ready (20 ms). Nothing may be pushed after it. Errors: those of the
  /// detokenizer.
  Status finish(ops::Context& context);

  [[nodiscard]] size_t num_frames() const { return num_frames_; }
  [[nodiscard]] bool has_pcm() const { return !pcm_.empty() || !codes_.empty(); }

 private:
  SpeechWriter(model::detokenizer::Stream stream, size_t frames_per_event)
      : stream_(std::move(stream)), frames_per_event_(frames_per_event) {}
  Status decode(ops::Context& context);

  model::detokenizer::Stream stream_;
  size_t frames_per_event_;
  size_t num_frames_ = 0;
  size_t frames_in_event_ = 0;
  std::vector<int32_t> codes_;  // of frames that are not decoded yet
  std::vector<float> pcm_;
};

}  // namespace rill::tasks
