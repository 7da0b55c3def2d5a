// SPDX-License-Identifier: Apache-2.0
#include "tasks/asr.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/str_cat.h"
#include "tasks/audio_chunker.h"
#include "tasks/transcriber.h"

namespace rill::tasks {
namespace {

using Clock = std::chrono::steady_clock;
using model::lfm2_audio::Model;

Error too_short(int64_t num_samples) {
  return Error{ErrorCode::kInvalidFormat,
               cat("audio too short: got ", num_samples, " samples at 16000 Hz, expected at least ",
                   kMinAudioSamples)};
}

/// Where in the audio a chunk lies; all zeros where the length is not known beforehand.
ChunkProgress progress_of(const audio::SampleRange& range, std::optional<int64_t> total) {
  if (!total || *total <= 0) return {};
  const auto whole = static_cast<double>(*total);
  return {std::min(1.0, static_cast<double>(range.begin) / whole),
          static_cast<double>(range.length()) / whole};
}

/// Transcribes the chunks that are complete; false if the run was cancelled.
Result<bool> transcribe_ready(ops::Context& context, AudioChunker& chunker,
                              Transcriber& transcriber, std::optional<int64_t> total) {
  if (transcriber.is_cancelled()) return false;
  while (const auto chunk = chunker.next()) {
    RILL_ASSIGN_OR_RETURN(const bool went_on,
                          transcriber.add(context, *chunk, progress_of(chunk->range, total)));
    if (!went_on) return false;
  }
  return true;
}

/// `read(samples)` appends the next samples and returns false at the end.
template <typename Read>
Result<Transcript> transcribe_pieces(const Model& model, ops::Context& context, Read&& read,
                                     std::optional<int64_t> total, const AsrOptions& options,
                                     const AsrRun& run) {
  const auto start = Clock::now();
  RILL_ASSIGN_OR_RETURN(auto transcriber, Transcriber::create(model, options, run));
  RILL_ASSIGN_OR_RETURN(auto chunker,
                        AudioChunker::create(options, run.vad, run.max_pass_duration_s));
  std::vector<float> piece;
  bool more = true;
  bool went_on = true;
  while (more && went_on) {
    piece.clear();
    Result<bool> got = read(piece);
    went_on = got || got.error().code != ErrorCode::kCancelled;
    if (!went_on) break;
    RILL_ASSIGN_OR_RETURN(more, std::move(got));
    RILL_RETURN_IF_ERROR(chunker.push(context, piece));
    if (!more && chunker.num_samples() < static_cast<int64_t>(kMinAudioSamples))
      return too_short(chunker.num_samples());
    if (!more) RILL_RETURN_IF_ERROR(chunker.finish(context));
    RILL_ASSIGN_OR_RETURN(went_on, transcribe_ready(context, chunker, transcriber, total));
  }
  Transcript transcript = transcriber.finish(chunker.num_samples());
  if (!went_on) {
    if (transcript.segments.empty()) return Error{ErrorCode::kCancelled, "transcribe: cancelled"};
    transcript.stop_reason = StopReason::kCancelled;
  }
  transcript.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return transcript;
}

// How much of a signal in memory goes to the chunker at once: a second.
constexpr size_t kPieceSamples = kModelSampleRateHz;

}  // namespace

Result<Transcript> transcribe_samples(const Model& model, ops::Context& context,
                                      std::span<const float> samples, const AsrOptions& options,
                                      const AsrRun& run) {
  std::span<const float> rest = samples;
  const auto read = [&rest](std::vector<float>& piece) -> Result<bool> {
    const auto taken = rest.first(std::min(rest.size(), kPieceSamples));
    piece.assign(taken.begin(), taken.end());
    rest = rest.subspan(taken.size());
    return !rest.empty();
  };
  return transcribe_pieces(model, context, read, static_cast<int64_t>(samples.size()), options,
                           run);
}

Result<Transcript> transcribe(const Model& model, ops::Context& context, const AudioInput& audio,
                              const AsrOptions& options, const AsrRun& run) {
  const auto start = Clock::now();
  RILL_ASSIGN_OR_RETURN(MonoPieces pieces, audio.open(run.cancel));
  const auto read = [&pieces](std::vector<float>& piece) { return pieces.read(piece); };
  RILL_ASSIGN_OR_RETURN(
      Transcript transcript,
      transcribe_pieces(model, context, read, pieces.total_samples(), options, run));
  transcript.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return transcript;
}

}  // namespace rill::tasks
