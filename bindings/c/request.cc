// SPDX-License-Identifier: Apache-2.0
// rill_request: what is asked.
#include <cstring>
#include <string_view>

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
  if (task != RILL_TASK_ASR)
    return fail(ErrorCode::kUnsupported, "create request: unknown task", error);
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

rill_status rill_request_set_option(rill_request* request, const char* key, const char* value,
                                    rill_error** error) {
  if (request == nullptr || key == nullptr || value == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "set option: request, key or value is NULL", error);
  }
  Status set = tasks::set_asr_option(key, value, request->asr);
  if (!set) return fail(std::move(set).error(), error);
  return RILL_OK;
}

void rill_request_set_progress(rill_request* request, rill_progress_fn progress, void* user) {
  request->progress = progress;
  request->progress_user = user;
}

}  // extern "C"
