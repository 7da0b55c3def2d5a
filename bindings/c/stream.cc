// SPDX-License-Identifier: Apache-2.0
// rill_stream: speech while it is made.
#include "audio/wav_writer.h"
#include "base/str_cat.h"
#include "model/detokenizer/detokenizer.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace rill::c_api {

Result<tasks::SpeechStream> start_speech(rill_session& session, const rill_request& request) {
  const rill_model& model = *session.model;
  const tasks::SpeechRun run{&model.engine->logger, &session.cancel};
  if (request.task == RILL_TASK_TTS) {
    tasks::TtsRequest whole = request.tts;
    RILL_ASSIGN_OR_RETURN(whole.options, tasks::apply_options(model.defaults.tts, request.options,
                                                              tasks::set_tts_option));
    RILL_ASSIGN_OR_RETURN(auto stream, tasks::TtsStream::start(*model.package, whole, run));
    return tasks::SpeechStream(std::move(stream));
  }
  tasks::S2sRequest whole = request.s2s;
  RILL_ASSIGN_OR_RETURN(whole.options, tasks::apply_options(model.defaults.s2s, request.options,
                                                            tasks::set_s2s_option));
  const bool return_codes = whole.options.return_codes;
  RILL_ASSIGN_OR_RETURN(auto stream,
                        tasks::S2sStream::start(*model.package, std::move(whole), run,
                                                model.max_pass_duration_s, &session.conversations));
  return tasks::SpeechStream(std::move(stream), return_codes);
}

std::unique_ptr<rill_result> make_result(tasks::SpeechResult speech, const rill_model& model) {
  auto result = std::make_unique<rill_result>();
  result->language = model.language;
  result->stop_reason = std::string(tasks::stop_reason_name(speech.stop_reason));
  result->usage.audio_s = speech.input_audio_s;
  result->usage.wall_s = speech.wall_s;
  result->usage.prompt_steps = speech.prompt_steps;
  result->usage.generated_tokens = speech.generated_steps;
  result->usage.cached_steps = speech.cached_steps;
  result->usage.output_audio_s =
      static_cast<double>(speech.pcm.size()) / model::detokenizer::kSampleRateHz;
  result->usage.seed = speech.seed;
  result->text = std::move(speech.text);
  result->pcm = std::move(speech.pcm);
  result->artifacts = std::move(speech.artifacts);
  return result;
}

Status check_push(const void* stream, const void* samples, size_t frames, int32_t channels) {
  if (stream == nullptr || (samples == nullptr && frames > 0)) {
    return Error{ErrorCode::kInvalidArgument, "push audio: stream or samples is NULL"};
  }
  if (channels < 1 || channels > 64 || frames > static_cast<size_t>(1) << 40) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("push audio: channels: got ", channels, ", expected 1 to 64")};
  }
  return {};
}

std::vector<float> scaled_samples(const int16_t* samples, size_t count) {
  std::vector<float> scaled(count);
  for (size_t i = 0; i < count; ++i) scaled[i] = static_cast<float>(samples[i]) / 32768.0f;
  return scaled;
}

}  // namespace rill::c_api

namespace {

rill_status push(rill_stream* stream, std::span<const float> interleaved, int32_t channels,
                 int32_t sample_rate_hz, rill_error** error) {
  Status pushed = stream->speech.push_audio(interleaved, static_cast<uint32_t>(channels),
                                            static_cast<uint32_t>(sample_rate_hz));
  if (!pushed) return fail(std::move(pushed).error(), error);
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_stream_start(rill_session* session, const rill_request* request,
                              rill_stream** stream, rill_error** error) {
  if (session == nullptr || request == nullptr || stream == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "start stream: session, request or stream is NULL",
                error);
  }
  if (is_text_task(request->task)) {
    return fail(ErrorCode::kInvalidArgument,
                "start stream: the task is text: rill_reply_stream_start streams it", error);
  }
  if (Status speaks = need_package(*session); !speaks)
    return fail(std::move(speaks).error(), error);
  if (request->task == RILL_TASK_ASR) {
    return fail(
        ErrorCode::kUnsupported,
        "LFM2-Audio ASR gives no speech; rill_transcript_stream_start transcribes live audio",
        error);
  }
  if (!take_session(*session))
    return fail(ErrorCode::kBusy, "start stream: the session is busy", error);
  auto speech = start_speech(*session, *request);
  if (!speech) {
    free_session(*session);
    return fail(std::move(speech).error(), error);
  }
  *stream = new rill_stream{session, std::move(speech).value(), {}};
  return RILL_OK;
}

rill_status rill_stream_start_with_audio(rill_session* session, const rill_request* request,
                                         const void* data, size_t size, rill_stream** stream,
                                         rill_error** error) {
  if (data == nullptr && size > 0)
    return fail(ErrorCode::kInvalidArgument, "start stream: data is NULL", error);
  auto samples = tasks::AudioInput::from_file_bytes({static_cast<const std::byte*>(data), size})
                     .read_mono_16k();
  if (!samples) return fail(std::move(samples).error(), error);
  const rill_status started = rill_stream_start(session, request, stream, error);
  if (started != RILL_OK) return started;
  const rill_status pushed = push(*stream, *samples, 1, tasks::kModelSampleRateHz, error);
  if (pushed != RILL_OK) {
    rill_stream_destroy(*stream);
    *stream = nullptr;
  }
  return pushed;
}

void rill_stream_destroy(rill_stream* stream) {
  if (stream == nullptr) return;
  free_session(*stream->session);
  delete stream;
}

rill_status rill_stream_push_audio_f32(rill_stream* stream, const float* samples, size_t frames,
                                       int32_t channels, int32_t sample_rate_hz,
                                       rill_error** error) {
  Status valid = check_push(stream, samples, frames, channels);
  if (!valid) return fail(std::move(valid).error(), error);
  return push(stream, {samples, frames * static_cast<size_t>(channels)}, channels, sample_rate_hz,
              error);
}

rill_status rill_stream_push_audio_s16(rill_stream* stream, const int16_t* samples, size_t frames,
                                       int32_t channels, int32_t sample_rate_hz,
                                       rill_error** error) {
  Status valid = check_push(stream, samples, frames, channels);
  if (!valid) return fail(std::move(valid).error(), error);
  return push(stream, scaled_samples(samples, frames * static_cast<size_t>(channels)), channels,
              sample_rate_hz, error);
}

rill_status rill_stream_next_event(rill_stream* stream, rill_event* event, rill_error** error) {
  if (stream == nullptr || event == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "next event: stream or event is NULL", error);
  }
  ops::Context context = compute_context(*stream->session);
  const std::lock_guard<std::mutex> turn(stream->session->model->engine->compute);
  auto next = stream->speech.next(context);
  if (!next) return fail(std::move(next).error(), error);
  const bool is_last = !next->has_value();
  stream->event = is_last ? tasks::SpeechEvent{} : std::move(**next);
  *event = {stream->event.text.c_str(), stream->event.text.size(), stream->event.pcm.data(),
            stream->event.pcm.size(), is_last ? 1 : 0};
  return RILL_OK;
}

rill_status rill_stream_finish(rill_stream* stream, rill_result** result, rill_error** error) {
  if (stream == nullptr || result == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "finish stream: stream or result is NULL", error);
  }
  *result = make_result(stream->speech.result(), *stream->session->model).release();
  return RILL_OK;
}

void rill_samples_to_s16(const float* samples, size_t count, int16_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = audio::to_int16(samples[i]);
}

}  // extern "C"
