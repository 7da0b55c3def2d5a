// SPDX-License-Identifier: Apache-2.0
// TranscriptStream: transcription of audio that is still coming in.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "audio/mono.h"
#include "base/result.h"
#include "tasks/asr.h"
#include "tasks/transcriber.h"

namespace rill::tasks {

/// What a stream has to say.
struct TranscriptEvent {
  enum class Kind {
    kNeedsAudio,  ///< nothing until more audio is pushed, or its end
    kPartial,     ///< the text so far of the segment that is being spoken; it may still change
    kFinal,       ///< the next segment of the transcript
    kEnd,         ///< the stream is over
  };
  Kind kind = Kind::kNeedsAudio;
  TranscriptSegment segment;
};

/// The final segments are those of transcribe() with the same options and audio_chunk_mode=vad (or
/// fixed): same times, same tokens, however the audio is cut. They come as soon as a pause of about
/// a second, or the length of a chunk, decides them; the memory does not grow with the stream.
/// Lifetime: the model and what `run` points to must outlive it. Threads: one at a time.
class TranscriptStream {
 public:
  /// partial_interval_s: a partial result at most every so many seconds of audio; 0: none.
  /// Errors: kInvalidArgument (language; audio_chunk_mode=none; a negative interval), kNotFound (no
  /// speech detector), kContextFull (chunks longer than the pass limit).
  static Result<TranscriptStream> start(const model::lfm2_audio::Model& model,
                                        const AsrOptions& options, const AsrRun& run,
                                        double partial_interval_s);

  /// Takes a piece of the audio, interleaved; all pieces have one format. Cheap: the work is done
  /// in next(). Errors: kInvalidArgument (format, a partial frame, after the end), kInvalidFormat
  /// (a non-finite sample).
  Status push_audio(std::span<const float> interleaved, uint32_t channels, uint32_t sample_rate_hz);
  void end_audio() { ended_ = true; }

  /// The next event. A cancelled stream ends at once, with what was final by then.
  /// Errors: kOutOfMemory, kContextFull.
  Result<TranscriptEvent> next(ops::Context& context);
  /// Seconds of audio that were pushed and not looked at yet.
  [[nodiscard]] double backlog_s() const;
  /// The transcript of the final segments so far.
  [[nodiscard]] Transcript result() const;

 private:
  TranscriptStream(Transcriber transcriber, AudioChunker chunker, double partial_interval_s)
      : transcriber_(std::move(transcriber)),
        chunker_(std::move(chunker)),
        partial_interval_s_(partial_interval_s) {}

  // Lets the chunker hear more; false if there is nothing more for now.
  Result<bool> listen(ops::Context& context);
  // The chunk that a partial result is due for.
  std::optional<AudioChunk> due_partial();

  Transcriber transcriber_;
  AudioChunker chunker_;
  double partial_interval_s_;
  std::optional<audio::MonoStream> mono_;
  uint32_t channels_ = 0;
  uint32_t sample_rate_hz_ = 0;
  std::vector<float> waiting_;  // mono samples at 16 kHz
  size_t waiting_begin_ = 0;
  int64_t partial_end_ = 0;  // where the last partial result ended
  bool spoke_since_partial_ = false;
  bool ended_ = false;
  bool finished_ = false;
  bool over_ = false;
};

}  // namespace rill::tasks
