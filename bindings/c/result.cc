// SPDX-License-Identifier: Apache-2.0
// rill_result: what a run returned.
#include <algorithm>
#include <cstring>

#include "base/str_cat.h"
#include "codec/audio_writer.h"
#include "model/detokenizer/detokenizer.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

Error out_of_range(const char* what, size_t index, size_t count) {
  return Error{ErrorCode::kInvalidArgument,
               cat(what, ": got index ", index, ", expected below ", count)};
}

}  // namespace

extern "C" {

void rill_result_destroy(rill_result* result) { delete result; }

const char* rill_result_text(const rill_result* result, size_t* size) {
  if (size != nullptr) *size = result->text.size();
  return result->text.c_str();
}

const char* rill_result_language(const rill_result* result) { return result->language.c_str(); }

const char* rill_result_stop_reason(const rill_result* result) {
  return result->stop_reason.c_str();
}

size_t rill_result_num_segments(const rill_result* result) {
  return result->transcript ? result->transcript->segments.size() : 0;
}

rill_status rill_result_segment(const rill_result* result, size_t index, rill_segment* segment,
                                rill_error** error) {
  if (result == nullptr || segment == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "result segment: result or segment is NULL", error);
  }
  const size_t count = rill_result_num_segments(result);
  if (index >= count) return fail(out_of_range("result segment", index, count), error);
  const tasks::TranscriptSegment& s = result->transcript->segments[index];
  *segment = {s.start_s,       s.end_s,         s.text.c_str(),     s.text.size(),
              s.tokens.data(), s.tokens.size(), s.truncated ? 1 : 0};
  return RILL_OK;
}

rill_status rill_result_usage(const rill_result* result, rill_usage* usage, rill_error** error) {
  if (result == nullptr || usage == nullptr || usage->struct_size < sizeof(size_t)) {
    return fail(ErrorCode::kInvalidArgument,
                "result usage: result or usage is NULL, or struct_size is not set", error);
  }
  rill_usage full = result->usage;
  full.struct_size = usage->struct_size;
  std::memcpy(usage, &full, std::min(usage->struct_size, sizeof full));
  return RILL_OK;
}

const float* rill_result_audio(const rill_result* result, size_t* num_samples,
                               int32_t* sample_rate_hz) {
  if (num_samples != nullptr) *num_samples = result->pcm.size();
  if (sample_rate_hz != nullptr)
    *sample_rate_hz = static_cast<int32_t>(model::detokenizer::kSampleRateHz);
  return result->pcm.data();
}

rill_status rill_result_audio_file(const rill_result* result, const char* format,
                                   rill_string** file, rill_error** error) {
  if (result == nullptr || format == nullptr || file == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "result audio file: result, format or file is NULL",
                error);
  }
  const auto known = codec::sound_file_format_by_name(format);
  if (!known) {
    return fail(Error{ErrorCode::kInvalidArgument,
                      cat("result audio file: format: got '", printable(format), "', expected ",
                          codec::kSoundFileFormats)},
                error);
  }
  auto bytes = codec::encode_sound_file(*known, model::detokenizer::kSampleRateHz, result->pcm);
  if (!bytes) return fail(std::move(bytes).error(), error);
  *file = new rill_string{{reinterpret_cast<const char*>(bytes->data()), bytes->size()}};
  return RILL_OK;
}

rill_status rill_result_wav(const rill_result* result, rill_string** wav, rill_error** error) {
  return rill_result_audio_file(result, "wav", wav, error);
}

size_t rill_result_num_artifacts(const rill_result* result) { return result->artifacts.size(); }

rill_status rill_result_artifact(const rill_result* result, size_t index, rill_artifact* artifact,
                                 rill_error** error) {
  if (result == nullptr || artifact == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "result artifact: result or artifact is NULL", error);
  }
  if (index >= result->artifacts.size()) {
    return fail(out_of_range("result artifact", index, result->artifacts.size()), error);
  }
  const tasks::Artifact& a = result->artifacts[index];
  *artifact = {a.id.c_str(), a.kind.c_str(), a.payload.data(), a.payload.size(), a.meta.size()};
  return RILL_OK;
}

rill_status rill_result_artifact_meta(const rill_result* result, size_t artifact_index,
                                      size_t meta_index, const char** key, const char** value,
                                      rill_error** error) {
  if (result == nullptr || key == nullptr || value == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "result artifact meta: result, key or value is NULL",
                error);
  }
  if (artifact_index >= result->artifacts.size()) {
    return fail(out_of_range("result artifact meta", artifact_index, result->artifacts.size()),
                error);
  }
  const auto& meta = result->artifacts[artifact_index].meta;
  if (meta_index >= meta.size())
    return fail(out_of_range("result artifact meta", meta_index, meta.size()), error);
  *key = meta[meta_index].first.c_str();
  *value = meta[meta_index].second.c_str();
  return RILL_OK;
}

rill_status rill_result_format(const rill_result* result, const char* format, rill_string** text,
                               rill_error** error) {
  if (result == nullptr || format == nullptr || text == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "format result: result, format or text is NULL",
                error);
  }
  if (!result->transcript) {
    return fail(ErrorCode::kInvalidArgument, "format result: the result is no transcript", error);
  }
  auto formatted = tasks::format_transcript(*result->transcript, format);
  if (!formatted) return fail(std::move(formatted).error(), error);
  *text = new rill_string{std::move(formatted).value()};
  return RILL_OK;
}

}  // extern "C"
