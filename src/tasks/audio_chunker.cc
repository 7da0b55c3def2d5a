// SPDX-License-Identifier: Apache-2.0
#include "tasks/audio_chunker.h"

#include <algorithm>
#include <utility>

#include "audio/chunk_plan.h"
#include "tasks/audio_input.h"
#include "tasks/pass_limit.h"

namespace rill::tasks {
namespace {

using audio::SampleRange;
using model::silero_vad::SileroVad;

constexpr double kDefaultChunkDurationS = 30.0;
constexpr int64_t kMinLastSamples = kModelSampleRateHz;  // of a fixed chunk
// What goes through the detector at once.
constexpr int64_t kDetectSamples = 32 * static_cast<int64_t>(model::silero_vad::kBlock);

Error no_detector() {
  return Error{ErrorCode::kNotFound,
               "audio_chunk_mode=vad needs the weights of the speech detector, and there are none: "
               "install them with tools/install_vad.sh and build again, or name their file with "
               "lfm2_audio.vad_model_path (--vad-file); audio_chunk_mode=fixed works without"};
}

}  // namespace

AudioChunker::AudioChunker(Cut cut, int64_t chunk_samples, double limit_s, const SileroVad* vad)
    : cut_(cut), chunk_samples_(chunk_samples), limit_s_(limit_s), vad_(vad) {
  if (cut == Cut::kSpeech) listen_for_speech();
}

Result<AudioChunker> AudioChunker::create(const AsrOptions& options, const SileroVad* vad,
                                          double limit_s) {
  const double chunk_s =
      options.audio_chunk_duration_s.value_or(std::min(kDefaultChunkDurationS, limit_s));
  const auto chunk_samples = static_cast<int64_t>(samples_of_seconds(chunk_s));
  Cut cut = Cut::kUndecided;
  switch (options.audio_chunk_mode) {
    case AudioChunkMode::kAuto:
      break;
    case AudioChunkMode::kVad:
      if (vad == nullptr) return no_detector();
      cut = Cut::kSpeech;
      break;
    case AudioChunkMode::kFixed:
      cut = Cut::kFixed;
      break;
    case AudioChunkMode::kNone:
      cut = Cut::kWhole;
      break;
  }
  return AudioChunker(cut, chunk_samples, limit_s, vad);
}

void AudioChunker::listen_for_speech() {
  audio::SpeechChunkOptions options;
  options.max_chunk = chunk_samples_;
  cut_ = Cut::kSpeech;
  vad_stream_.emplace(*vad_);
  speech_.emplace(audio::SpeechSegmentOptions{}, options);
}

bool AudioChunker::is_held() const {
  const auto limit = static_cast<int64_t>(samples_of_seconds(limit_s_));
  return !finished_ && (cut_ == Cut::kWhole || chunk_samples_ > limit);
}

Status AudioChunker::push(ops::Context& context, std::span<const float> samples) {
  heard_ += static_cast<int64_t>(samples.size());
  if (is_held() && heard_ > static_cast<int64_t>(samples_of_seconds(limit_s_))) {
    over_limit_ = true;  // the rest only counts
    std::exchange(buffer_, {});
  }
  if (over_limit_) return {};
  buffer_.insert(buffer_.end(), samples.begin(), samples.end());
  if (cut_ == Cut::kUndecided && heard_ > chunk_samples_) {
    cut_ = Cut::kFixed;
    if (vad_ != nullptr) listen_for_speech();
  }
  if (cut_ == Cut::kFixed) cut_fixed();
  return cut_ == Cut::kSpeech ? detect(context) : Status{};
}

void AudioChunker::cut_fixed() {
  // A chunk is sure when what follows is no short rest that would be split with it.
  while (heard_ - cut_until_ >= chunk_samples_ + kMinLastSamples) {
    plan({cut_until_, cut_until_ + chunk_samples_});
    cut_until_ += chunk_samples_;
  }
}

Status AudioChunker::detect(ops::Context& context) {
  while (detected_ < heard_) {
    const SampleRange piece = {detected_, std::min(heard_, detected_ + kDetectSamples)};
    const auto begin = static_cast<size_t>(piece.begin - buffer_begin_);
    probabilities_.clear();
    RILL_RETURN_IF_ERROR(vad_stream_->push(
        context, std::span(buffer_).subspan(begin, static_cast<size_t>(piece.length())),
        probabilities_));
    detected_ = piece.end;
    speech_->push(probabilities_, detected_);
    take_speech_chunks();
  }
  return {};
}

void AudioChunker::take_speech_chunks() {
  for (const audio::SpeechChunk& chunk : speech_->take()) planned_.push_back(chunk);
  forget_samples();
}

Status AudioChunker::finish(ops::Context& context) {
  if (is_held()) {
    const bool whole = cut_ == Cut::kWhole;
    RILL_RETURN_IF_ERROR(
        check_pass_limit(static_cast<size_t>(whole ? heard_ : std::min(heard_, chunk_samples_)),
                         limit_s_, whole ? "the audio" : "the audio chunk",
                         whole ? "transcribe it in chunks with audio_chunk_mode=fixed"
                               : "lower audio_chunk_duration_sec"));
  }
  finished_ = true;
  if (cut_ == Cut::kSpeech) {
    probabilities_.clear();
    RILL_RETURN_IF_ERROR(vad_stream_->finish(context, probabilities_));
    speech_->push(probabilities_, heard_);
    speech_->finish(heard_);
    take_speech_chunks();
  } else if (cut_ == Cut::kFixed) {
    const int64_t begin = std::exchange(cut_until_, heard_);
    for (const SampleRange& rest :
         audio::plan_fixed_chunks(heard_ - begin, chunk_samples_, kMinLastSamples)) {
      plan({begin + rest.begin, begin + rest.end});
    }
  } else if (heard_ > 0) {
    plan({0, heard_});
  }
  return {};
}

std::vector<float> AudioChunker::samples_of(const SampleRange& range) const {
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(range.begin - buffer_begin_);
  return {begin, begin + static_cast<std::ptrdiff_t>(range.length())};
}

// Drops what no chunk needs, half the buffer at a time so that little is moved.
void AudioChunker::forget_samples() {
  int64_t needed = planned_.empty() ? heard_ : planned_.front().range.begin;
  if (cut_ == Cut::kSpeech && planned_.empty()) needed = std::min(speech_->next_begin(), detected_);
  if (cut_ == Cut::kFixed) needed = std::min(needed, cut_until_);
  if (cut_ == Cut::kUndecided) needed = 0;
  const auto dropped = static_cast<size_t>(std::max<int64_t>(0, needed - buffer_begin_));
  if (dropped < buffer_.size() / 2 + 1) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(dropped));
  buffer_begin_ += static_cast<int64_t>(dropped);
}

std::optional<AudioChunk> AudioChunker::next() {
  if (planned_.empty() || is_held()) return std::nullopt;
  const audio::SpeechChunk planned = planned_.front();
  AudioChunk chunk{planned.range, planned.speech, samples_of(planned.range)};
  planned_.pop_front();
  forget_samples();
  return chunk;
}

std::optional<AudioChunk> AudioChunker::open_chunk() const {
  if (finished_ || over_limit_ || !planned_.empty()) return std::nullopt;
  std::optional<SampleRange> range = SampleRange{cut_until_, heard_};
  if (cut_ == Cut::kSpeech) range = speech_->open_chunk();
  if (cut_ == Cut::kFixed) range->end = std::min(range->end, cut_until_ + chunk_samples_);
  if (!range || range->length() <= 0) return std::nullopt;
  return AudioChunk{*range, *range, samples_of(*range)};
}

bool AudioChunker::is_speaking() const { return cut_ != Cut::kSpeech || speech_->is_speaking(); }

}  // namespace rill::tasks
