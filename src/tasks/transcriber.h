// SPDX-License-Identifier: Apache-2.0
// Transcriber: turns chunks of audio into the segments of a transcript; what offline and streamed
// transcription share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "tasks/asr.h"
#include "tasks/audio_chunker.h"

namespace rill::tasks {

/// How far a run is, as its chunks tell it.
struct ChunkProgress {
  double done_before = 0;  ///< part of the audio before this chunk
  double part = 0;         ///< part of the audio in this chunk

  void report(const AsrRun& run, double within) const {
    if (run.progress == nullptr) return;
    run.progress(run.progress_user, std::min(1.0, done_before + part * within));
  }
};

/// Lifetime: the model and what `run` points to must outlive it.
class Transcriber {
 public:
  /// Errors: kInvalidArgument (language).
  static Result<Transcriber> create(const model::lfm2_audio::Model& model,
                                    const AsrOptions& options, const AsrRun& run);

  /// Transcribes the next chunk into a segment of the transcript; false if the run was cancelled.
  /// Errors: kContextFull (a prompt past the context), kOutOfMemory.
  Result<bool> add(ops::Context& context, const AudioChunk& chunk, const ChunkProgress& progress);
  /// The transcript of a chunk that does not count: it only helps to guess the next ones.
  Result<TranscriptSegment> preview(ops::Context& context, const AudioChunk& chunk);

  [[nodiscard]] bool is_cancelled() const;
  [[nodiscard]] const Transcript& so_far() const { return transcript_; }
  /// The transcript of num_samples samples of audio.
  [[nodiscard]] Transcript finish(int64_t num_samples) const;

 private:
  Transcriber(const model::lfm2_audio::Model& model, const AsrOptions& options, const AsrRun& run);

  // What prompt lookup draws from: the text so far, then what the running chunk was last heard as.
  [[nodiscard]] std::vector<int32_t> heard_before() const;

  const model::lfm2_audio::Model* model_;
  AsrOptions options_;
  AsrRun run_;
  Transcript transcript_;
  std::vector<int32_t> last_preview_;
};

}  // namespace rill::tasks
