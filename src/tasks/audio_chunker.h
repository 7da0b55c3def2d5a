// SPDX-License-Identifier: Apache-2.0
// AudioChunker: cuts audio into the pieces that are transcribed one by one, while it comes in.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "audio/speech_chunker.h"
#include "base/result.h"
#include "model/silero_vad/silero_vad.h"
#include "ops/context.h"
#include "tasks/asr_options.h"

namespace rill::tasks {

/// A piece of the signal, in samples at 16 kHz.
struct AudioChunk {
  audio::SampleRange range;
  audio::SampleRange speech;  ///< where somebody speaks in it; without a detector all of it
  std::vector<float> samples;
};

/// The chunks depend on the signal only, not on how it is cut into pushes; except with kNone, and
/// kAuto up to its first chunk, the memory does not grow with the signal.
/// Source: spec: audio, sections 17 and 18.
class AudioChunker {
 public:
  /// vad: the speech detector, or null; it must outlive the chunker.
  /// Errors: kNotFound (kVad without a detector).
  static Result<AudioChunker> create(const AsrOptions& options,
                                     const model::silero_vad::SileroVad* vad, double limit_s);

  /// Takes the next samples, mono at 16 kHz. Errors: kOutOfMemory.
  Status push(ops::Context& context, std::span<const float> samples);
  /// Ends the signal. Errors: kOutOfMemory; kContextFull (a pass would take more than the limit).
  Status finish(ops::Context& context);

  /// The next chunk that is complete. Where the signal may turn out to be past the limit there is
  /// none before its end, so that nothing is computed in vain.
  [[nodiscard]] std::optional<AudioChunk> next();
  /// What the chunk after those of next() would be if the signal ended here.
  [[nodiscard]] std::optional<AudioChunk> open_chunk() const;
  /// Whether somebody is speaking at the end of what was pushed (always without a detector).
  [[nodiscard]] bool is_speaking() const;
  [[nodiscard]] int64_t num_samples() const { return heard_; }

 private:
  enum class Cut { kWhole, kUndecided, kFixed, kSpeech };

  AudioChunker(Cut cut, int64_t chunk_samples, double limit_s,
               const model::silero_vad::SileroVad* vad);
  void listen_for_speech();
  Status detect(ops::Context& context);
  void cut_fixed();
  void plan(const audio::SampleRange& range) { planned_.push_back({range, range}); }
  void take_speech_chunks();
  void forget_samples();
  [[nodiscard]] std::vector<float> samples_of(const audio::SampleRange& range) const;
  // Whether one pass could still turn out to be past the limit.
  [[nodiscard]] bool is_held() const;

  Cut cut_;
  int64_t chunk_samples_;
  double limit_s_;
  const model::silero_vad::SileroVad* vad_;
  std::optional<model::silero_vad::SileroVadStream> vad_stream_;
  std::optional<audio::SpeechChunker> speech_;
  std::vector<float> probabilities_;

  int64_t heard_ = 0;
  int64_t detected_ = 0;   // samples that went through the detector
  int64_t cut_until_ = 0;  // of fixed chunks
  bool over_limit_ = false;
  bool finished_ = false;
  std::vector<float> buffer_;
  int64_t buffer_begin_ = 0;
  std::deque<audio::SpeechChunk> planned_;
};

}  // namespace rill::tasks
