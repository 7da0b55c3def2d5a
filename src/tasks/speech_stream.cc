// SPDX-License-Identifier: Apache-2.0
#include "tasks/speech_stream.h"

#include "tasks/audio_input.h"

namespace rill::tasks {
namespace {

void fill(const TtsStream& stream, bool finished, SpeechResult& result) {
  result.prompt_steps = stream.prompt_steps();
  result.generated_steps = stream.frames();
  result.seed = stream.seed();
  if (stream.truncated()) result.stop_reason = StopReason::kMaxTokens;
  if (!finished) result.stop_reason = StopReason::kCancelled;
}

void fill(const S2sStream& stream, bool finished, SpeechResult& result) {
  result.prompt_steps = stream.prompt_steps();
  result.cached_steps = stream.cached_steps();
  result.generated_steps = stream.steps().size();
  result.seed = stream.seed();
  result.input_audio_s = static_cast<double>(stream.question_samples()) / kModelSampleRateHz;
  if (!stream.ended())
    result.stop_reason = finished ? StopReason::kMaxTokens : StopReason::kCancelled;
}

}  // namespace

void SpeechStream::gather_events() {
  std::visit([](auto& stream) { stream.set_frames_per_event(SIZE_MAX); }, stream_);
}

Status SpeechStream::push_audio(std::span<const float> interleaved, uint32_t channels,
                                uint32_t sample_rate_hz) {
  if (auto* s2s = std::get_if<S2sStream>(&stream_))
    return s2s->push_audio(interleaved, channels, sample_rate_hz);
  return Error{ErrorCode::kInvalidArgument, "LFM2-Audio TTS takes no audio"};
}

Result<std::optional<SpeechEvent>> SpeechStream::next(ops::Context& context) {
  auto event = std::visit([&](auto& stream) { return stream.next(context); }, stream_);
  if (!event) return event;
  if (event->has_value()) {
    text_ += (*event)->text;
    pcm_.insert(pcm_.end(), (*event)->pcm.begin(), (*event)->pcm.end());
  } else {
    finished_ = true;
  }
  return event;
}

SpeechResult SpeechStream::result() const {
  SpeechResult result;
  result.text = text_;
  result.pcm = pcm_;
  std::visit([&](const auto& stream) { fill(stream, finished_, result); }, stream_);
  if (const auto* s2s = std::get_if<S2sStream>(&stream_); s2s != nullptr && return_codes_) {
    result.artifacts.push_back(s2s->reply_artifact());
  }
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return result;
}

}  // namespace rill::tasks
