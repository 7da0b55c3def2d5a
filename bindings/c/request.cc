// SPDX-License-Identifier: Apache-2.0
// rill_request: what is asked.
#include <cstring>
#include <string_view>

#include "base/utf8.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

template <typename Sample>
rill_status set_samples(rill_request* request, const Sample* samples, size_t frames,
                        int32_t channels, int32_t sample_rate_hz, rill_error** error) {
  if (request == nullptr)
    return fail(ErrorCode::kInvalidArgument, "set audio: request is NULL", error);
  if (samples == nullptr && frames > 0)
    return fail(ErrorCode::kInvalidArgument, "set audio: samples is NULL", error);
  auto input = tasks::AudioInput::from_samples(samples, frames, channels, sample_rate_hz);
  if (!input) return fail(std::move(input).error(), error);
  request->audio = std::move(input).value();
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_request_create(rill_task task, rill_request** request, rill_error** error) {
  if (request == nullptr)
    return fail(ErrorCode::kInvalidArgument, "create request: request is NULL", error);
  if (task != RILL_TASK_ASR && task != RILL_TASK_TTS && task != RILL_TASK_S2S &&
      !is_text_task(task)) {
    return fail(ErrorCode::kUnsupported, "create request: unknown task", error);
  }
  *request = new rill_request{};
  (*request)->task = task;
  return RILL_OK;
}

void rill_request_destroy(rill_request* request) { delete request; }

rill_status rill_request_set_audio_file(rill_request* request, const char* path,
                                        rill_error** error) {
  if (request == nullptr || path == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "set audio file: request or path is NULL", error);
  }
  if (request->task == RILL_TASK_TTS) {
    return fail(ErrorCode::kInvalidArgument,
                "LFM2-Audio TTS takes no audio: its voices cannot be cloned", error);
  }
  request->audio = tasks::AudioInput::from_path(path);
  return RILL_OK;
}

rill_status rill_request_set_audio_bytes(rill_request* request, const void* data, size_t size,
                                         rill_error** error) {
  if (request == nullptr || (data == nullptr && size > 0)) {
    return fail(ErrorCode::kInvalidArgument, "set audio bytes: request or data is NULL", error);
  }
  request->audio = tasks::AudioInput::from_file_bytes({static_cast<const std::byte*>(data), size});
  return RILL_OK;
}

rill_status rill_request_set_audio_f32(rill_request* request, const float* samples, size_t frames,
                                       int32_t channels, int32_t sample_rate_hz,
                                       rill_error** error) {
  return set_samples(request, samples, frames, channels, sample_rate_hz, error);
}

rill_status rill_request_set_audio_s16(rill_request* request, const int16_t* samples, size_t frames,
                                       int32_t channels, int32_t sample_rate_hz,
                                       rill_error** error) {
  return set_samples(request, samples, frames, channels, sample_rate_hz, error);
}

rill_status rill_request_set_text(rill_request* request, const char* text, size_t size,
                                  rill_error** error) {
  if (request == nullptr || (text == nullptr && size > 0)) {
    return fail(ErrorCode::kInvalidArgument, "set text: request or text is NULL", error);
  }
  if (request->task == RILL_TASK_ASR)
    return fail(ErrorCode::kInvalidArgument, "LFM2-Audio ASR takes no text", error);
  const std::string_view copied(text, size);
  if (request->task == RILL_TASK_COMPLETE) {
    request->complete.prompt = std::string(copied);
    request->complete.tokens.reset();
    return RILL_OK;
  }
  if (request->task == RILL_TASK_CHAT) {
    Json message = Json::object();
    message.set("role", Json::string("user"));
    message.set("content", Json::string(to_valid_utf8(copied)));
    if (!request->chat.messages.is_array()) request->chat.messages = Json::array();
    request->chat.messages.items().push_back(std::move(message));
    return RILL_OK;
  }
  (request->task == RILL_TASK_TTS ? request->tts.text : request->s2s.system) = std::string(copied);
  return RILL_OK;
}

rill_status rill_request_set_voice(rill_request* request, const char* voice, rill_error** error) {
  if (request == nullptr || voice == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "set voice: request or voice is NULL", error);
  }
  if (request->task != RILL_TASK_TTS) {
    return fail(ErrorCode::kInvalidArgument, "only LFM2-Audio TTS takes a voice", error);
  }
  request->tts.voice = voice;
  return RILL_OK;
}

rill_status rill_request_add_artifact(rill_request* request, const char* id, const char* kind,
                                      const void* payload, size_t size, size_t* index,
                                      rill_error** error) {
  if (request == nullptr || id == nullptr || kind == nullptr || (payload == nullptr && size > 0)) {
    return fail(ErrorCode::kInvalidArgument, "add artifact: request, id, kind or payload is NULL",
                error);
  }
  if (request->task != RILL_TASK_S2S) {
    return fail(ErrorCode::kInvalidArgument, "only LFM2-Audio s2s takes artifacts", error);
  }
  const auto* bytes = static_cast<const std::byte*>(payload);
  request->s2s.artifacts.push_back({id, kind, {bytes, bytes + size}, {}});
  if (index != nullptr) *index = request->s2s.artifacts.size() - 1;
  return RILL_OK;
}

rill_status rill_request_set_artifact_meta(rill_request* request, size_t index, const char* key,
                                           const char* value, rill_error** error) {
  if (request == nullptr || key == nullptr || value == nullptr ||
      index >= request->s2s.artifacts.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "set artifact meta: request, key or value is NULL, or no such artifact", error);
  }
  request->s2s.artifacts[index].meta.emplace_back(key, value);
  return RILL_OK;
}

rill_status rill_request_set_option(rill_request* request, const char* key, const char* value,
                                    rill_error** error) {
  if (request == nullptr || key == nullptr || value == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "set option: request, key or value is NULL", error);
  }
  if (is_text_task(request->task)) {
    if (Status text = set_text_option(*request, key, value); !text)
      return fail(std::move(text).error(), error);
    return RILL_OK;
  }
  Status set = request->task == RILL_TASK_ASR ? tasks::set_asr_option(key, value, request->asr)
               : request->task == RILL_TASK_TTS
                   ? tasks::set_tts_option(key, value, request->tts.options)
                   : tasks::set_s2s_option(key, value, request->s2s.options);
  if (!set) return fail(std::move(set).error(), error);
  request->options.push_back({key, value});
  return RILL_OK;
}

void rill_request_set_progress(rill_request* request, rill_progress_fn progress, void* user) {
  request->progress = progress;
  request->progress_user = user;
}

}  // extern "C"
