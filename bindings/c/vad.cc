// SPDX-License-Identifier: Apache-2.0
// rill_vad: the speech detector, and listening to live audio with it.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audio/mono.h"
#include "audio/pcm.h"
#include "audio/vad_segments.h"
#include "base/str_cat.h"
#include "model/silero_vad/silero_vad.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

struct rill_vad_stream {
  rill_vad_stream(const rill_vad& detector, std::unique_ptr<ThreadPool> own_pool)
      : vad(&detector), pool(std::move(own_pool)), network(detector.network) {}

  const rill_vad* vad;
  std::unique_ptr<ThreadPool> pool;  // its own: it never waits for a computation
  Arena scratch;
  model::silero_vad::SileroVadStream network;
  audio::SpeechFinder finder;
  std::optional<audio::MonoStream> mono;
  uint32_t channels = 0;
  uint32_t sample_rate_hz = 0;
  int64_t frames = 0;
  size_t num_segments = 0;
  audio::SampleRange latest;
};

namespace {

constexpr double kRateHz = audio::kSpeechSampleRateHz;

rill_status hand_over(rill_engine* engine, Result<model::silero_vad::SileroVad> network,
                      rill_vad** vad, rill_error** error) {
  if (!network) return fail(std::move(network).error(), error);
  *vad = new rill_vad{engine, std::move(network).value()};
  return RILL_OK;
}

Status check_format(rill_vad_stream& stream, uint32_t channels, uint32_t sample_rate_hz) {
  if (!stream.mono) {
    RILL_ASSIGN_OR_RETURN(stream.mono, audio::MonoStream::create(sample_rate_hz, channels));
    stream.channels = channels;
    stream.sample_rate_hz = sample_rate_hz;
  }
  if (channels == stream.channels && sample_rate_hz == stream.sample_rate_hz) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("push audio: got ", channels, " channels at ", sample_rate_hz, " Hz, expected ",
                   stream.channels, " at ", stream.sample_rate_hz, " Hz as in the pieces before")};
}

/// Block by block, so that no stretch of speech begins and ends unseen.
void find_speech(rill_vad_stream& stream, std::span<const float> probabilities) {
  for (const float& probability : probabilities) {
    stream.finder.push({&probability, 1});
    (void)stream.finder.take();  // what has ended was seen while it was open
    const auto open = stream.finder.open();
    if (!open) continue;
    if (stream.num_segments == 0 || open->begin != stream.latest.begin) ++stream.num_segments;
    stream.latest = *open;
  }
}

Status push(rill_vad_stream& stream, std::span<const float> interleaved, uint32_t channels,
            uint32_t sample_rate_hz) {
  RILL_RETURN_IF_ERROR(check_format(stream, channels, sample_rate_hz));
  std::vector<float> samples;
  RILL_RETURN_IF_ERROR(stream.mono->push(interleaved, samples));
  stream.frames += static_cast<int64_t>(interleaved.size() / channels);
  ops::Context context = {stream.vad->engine->kernels, stream.pool.get(), &stream.scratch};
  std::vector<float> probabilities;
  RILL_RETURN_IF_ERROR(stream.network.push(context, samples, probabilities));
  find_speech(stream, probabilities);
  return {};
}

rill_vad_state state_of(const rill_vad_stream& stream) {
  rill_vad_state state = {};
  state.heard_s = static_cast<double>(stream.frames) / stream.sample_rate_hz;
  state.is_speaking = stream.finder.open() ? 1 : 0;
  state.num_segments = stream.num_segments;
  state.speech_begin_s = static_cast<double>(stream.latest.begin) / kRateHz;
  state.speech_end_s = static_cast<double>(stream.latest.end) / kRateHz;
  return state;
}

/// The arguments of a push; what MonoStream checks is left to it.
Status check_push(const rill_vad_stream* stream, const void* samples, size_t frames,
                  int32_t channels, int32_t sample_rate_hz) {
  if (stream == nullptr || (samples == nullptr && frames > 0)) {
    return Error{ErrorCode::kInvalidArgument, "push audio: stream or samples is NULL"};
  }
  if (channels < 1 || channels > static_cast<int32_t>(audio::kMaxChannels)) {
    return Error{ErrorCode::kInvalidArgument, cat("push audio: channels: got ", channels,
                                                  ", expected 1 to ", audio::kMaxChannels)};
  }
  if (sample_rate_hz < 1) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("push audio: sample rate: got ", sample_rate_hz, " Hz")};
  }
  if (frames > SIZE_MAX / sizeof(float) / audio::kMaxChannels) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("push audio: frames: got ", frames, ", too many for memory")};
  }
  return {};
}

rill_status push(rill_vad_stream* stream, std::span<const float> interleaved, int32_t channels,
                 int32_t sample_rate_hz, rill_vad_state* state, rill_error** error) {
  Status pushed = push(*stream, interleaved, static_cast<uint32_t>(channels),
                       static_cast<uint32_t>(sample_rate_hz));
  if (!pushed) return fail(std::move(pushed).error(), error);
  if (state != nullptr) *state = state_of(*stream);
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_vad_open(rill_engine* engine, const char* path, rill_vad** vad,
                          rill_error** error) {
  if (engine == nullptr || path == nullptr || vad == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "open vad: engine, path or vad is NULL", error);
  }
  const std::lock_guard<std::mutex> turn(engine->compute);
  return hand_over(engine, model::silero_vad::SileroVad::open(path, *engine->pool), vad, error);
}

rill_status rill_vad_open_memory(rill_engine* engine, const void* data, size_t size, rill_vad** vad,
                                 rill_error** error) {
  if (engine == nullptr || data == nullptr || vad == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "open vad: engine, data or vad is NULL", error);
  }
  const std::lock_guard<std::mutex> turn(engine->compute);
  return hand_over(engine,
                   model::silero_vad::SileroVad::parse({static_cast<const std::byte*>(data), size},
                                                       "speech detector", *engine->pool),
                   vad, error);
}

void rill_vad_destroy(rill_vad* vad) { delete vad; }

rill_status rill_vad_stream_create(const rill_vad* vad, rill_vad_stream** stream,
                                   rill_error** error) {
  if (vad == nullptr || stream == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "create vad stream: vad or stream is NULL", error);
  }
  auto pool = ThreadPool::create(1);
  if (!pool) return fail(std::move(pool).error(), error);
  *stream = new rill_vad_stream(*vad, std::move(pool).value());
  return RILL_OK;
}

void rill_vad_stream_destroy(rill_vad_stream* stream) { delete stream; }

rill_status rill_vad_stream_push_f32(rill_vad_stream* stream, const float* samples, size_t frames,
                                     int32_t channels, int32_t sample_rate_hz,
                                     rill_vad_state* state, rill_error** error) {
  Status valid = check_push(stream, samples, frames, channels, sample_rate_hz);
  if (!valid) return fail(std::move(valid).error(), error);
  return push(stream, {samples, frames * static_cast<size_t>(channels)}, channels, sample_rate_hz,
              state, error);
}

rill_status rill_vad_stream_push_s16(rill_vad_stream* stream, const int16_t* samples, size_t frames,
                                     int32_t channels, int32_t sample_rate_hz,
                                     rill_vad_state* state, rill_error** error) {
  Status valid = check_push(stream, samples, frames, channels, sample_rate_hz);
  if (!valid) return fail(std::move(valid).error(), error);
  std::vector<float> scaled(frames * static_cast<size_t>(channels));
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] = static_cast<float>(samples[i]) / 32768.0f;
  return push(stream, scaled, channels, sample_rate_hz, state, error);
}

}  // extern "C"
