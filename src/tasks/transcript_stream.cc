// SPDX-License-Identifier: Apache-2.0
#include "tasks/transcript_stream.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"

namespace rill::tasks {
namespace {

// What is listened to before the chunks are looked at again: half a second.
constexpr size_t kListenSamples = kModelSampleRateHz / 2;

Result<AsrOptions> live_options(AsrOptions options, const AsrRun& run) {
  if (options.audio_chunk_mode == AudioChunkMode::kNone) {
    return Error{ErrorCode::kInvalidArgument,
                 "a stream is transcribed in chunks; use audio_chunk_mode=vad or fixed, not none"};
  }
  // The length of a stream is not known, so "auto" cannot mean the whole of it.
  if (options.audio_chunk_mode == AudioChunkMode::kAuto)
    options.audio_chunk_mode = AudioChunkMode::kVad;
  if (options.audio_chunk_duration_s) {
    RILL_RETURN_IF_ERROR(check_pass_limit(samples_of_seconds(*options.audio_chunk_duration_s),
                                          run.max_pass_duration_s, "the audio chunk",
                                          "lower audio_chunk_duration_sec"));
  }
  return options;
}

}  // namespace

Result<TranscriptStream> TranscriptStream::start(const model::lfm2_audio::Model& model,
                                                 const AsrOptions& options, const AsrRun& run,
                                                 double partial_interval_s) {
  if (!(partial_interval_s >= 0)) {
    return Error{ErrorCode::kInvalidArgument,
                 "start stream: seconds between partial results: expected 0 or more"};
  }
  RILL_ASSIGN_OR_RETURN(const AsrOptions live, live_options(options, run));
  RILL_ASSIGN_OR_RETURN(auto transcriber, Transcriber::create(model, live, run));
  RILL_ASSIGN_OR_RETURN(auto chunker, AudioChunker::create(live, run.vad, run.max_pass_duration_s));
  return TranscriptStream(std::move(transcriber), std::move(chunker), partial_interval_s);
}

Status TranscriptStream::push_audio(std::span<const float> interleaved, uint32_t channels,
                                    uint32_t sample_rate_hz) {
  if (ended_) return Error{ErrorCode::kInvalidArgument, "push audio: the stream's audio has ended"};
  if (!mono_) {
    RILL_ASSIGN_OR_RETURN(mono_, audio::MonoStream::create(sample_rate_hz, channels));
    channels_ = channels;
    sample_rate_hz_ = sample_rate_hz;
  }
  if (channels != channels_ || sample_rate_hz != sample_rate_hz_) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("push audio: got ", sample_rate_hz, " Hz and ", channels,
                     " channels in a stream of ", sample_rate_hz_, " Hz and ", channels_)};
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_begin_));
  waiting_begin_ = 0;
  return mono_->push(interleaved, waiting_);
}

Result<bool> TranscriptStream::listen(ops::Context& context) {
  if (ended_ && mono_) {
    mono_->finish(waiting_);
    mono_.reset();
  }
  const auto rest = std::span<const float>(waiting_).subspan(waiting_begin_);
  if (!rest.empty()) {
    const auto heard = rest.first(std::min(rest.size(), kListenSamples));
    waiting_begin_ += heard.size();
    RILL_RETURN_IF_ERROR(chunker_.push(context, heard));
    spoke_since_partial_ = spoke_since_partial_ || chunker_.is_speaking();
    return true;
  }
  if (!ended_ || finished_) return false;
  finished_ = true;
  RILL_RETURN_IF_ERROR(chunker_.finish(context));
  return true;
}

std::optional<AudioChunk> TranscriptStream::due_partial() {
  if (partial_interval_s_ <= 0 || ended_) return std::nullopt;
  auto chunk = chunker_.open_chunk();
  if (!chunk || !spoke_since_partial_) return std::nullopt;
  // At the end of a stretch of speech at once: a pause is when people look at the text.
  const auto interval =
      static_cast<int64_t>(samples_of_seconds(std::min(partial_interval_s_, 1e6)));
  if (chunker_.is_speaking() &&
      chunk->range.end - std::max(partial_end_, chunk->range.begin) < interval) {
    return std::nullopt;
  }
  partial_end_ = chunk->range.end;
  spoke_since_partial_ = false;
  return chunk;
}

Result<TranscriptEvent> TranscriptStream::next(ops::Context& context) {
  using Kind = TranscriptEvent::Kind;
  while (!over_) {
    if (transcriber_.is_cancelled()) break;
    if (const auto chunk = chunker_.next()) {
      partial_end_ = std::max(partial_end_, chunk->range.end);
      RILL_ASSIGN_OR_RETURN(const bool went_on, transcriber_.add(context, *chunk, {}));
      if (!went_on) break;
      return TranscriptEvent{Kind::kFinal, transcriber_.so_far().segments.back()};
    }
    RILL_ASSIGN_OR_RETURN(const bool heard, listen(context));
    if (heard) continue;
    if (finished_) break;
    if (const auto chunk = due_partial()) {
      auto preview = transcriber_.preview(context, *chunk);
      if (!preview && preview.error().code == ErrorCode::kCancelled) break;
      if (!preview) return std::move(preview).error();
      return TranscriptEvent{Kind::kPartial, std::move(*preview)};
    }
    return TranscriptEvent{};
  }
  over_ = true;
  return TranscriptEvent{Kind::kEnd, {}};
}

double TranscriptStream::backlog_s() const {
  return static_cast<double>(waiting_.size() - waiting_begin_) / kModelSampleRateHz;
}

Transcript TranscriptStream::result() const {
  Transcript transcript = transcriber_.finish(chunker_.num_samples());
  if (!over_ || transcriber_.is_cancelled()) transcript.stop_reason = StopReason::kCancelled;
  return transcript;
}

}  // namespace rill::tasks
