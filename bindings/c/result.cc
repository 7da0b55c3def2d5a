// SPDX-License-Identifier: Apache-2.0
// rill_result: what a run returned.
#include <algorithm>
#include <cstring>

#include "base/str_cat.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

extern "C" {

void rill_result_destroy(rill_result* result) { delete result; }

const char* rill_result_text(const rill_result* result, size_t* size) {
  if (size != nullptr) *size = result->transcript.text.size();
  return result->transcript.text.c_str();
}

const char* rill_result_language(const rill_result* result) {
  return result->transcript.language.c_str();
}

const char* rill_result_stop_reason(const rill_result* result) {
  return result->stop_reason.c_str();
}

size_t rill_result_num_segments(const rill_result* result) {
  return result->transcript.segments.size();
}

rill_status rill_result_segment(const rill_result* result, size_t index, rill_segment* segment,
                                rill_error** error) {
  if (result == nullptr || segment == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "result segment: result or segment is NULL", error);
  }
  const auto& segments = result->transcript.segments;
  if (index >= segments.size()) {
    return fail(Error{ErrorCode::kInvalidArgument, cat("result segment: got index ", index,
                                                       ", expected below ", segments.size())},
                error);
  }
  const tasks::TranscriptSegment& s = segments[index];
  *segment = {s.start_s,       s.end_s,         s.text.c_str(),     s.text.size(),
              s.tokens.data(), s.tokens.size(), s.truncated ? 1 : 0};
  return RILL_OK;
}

rill_status rill_result_usage(const rill_result* result, rill_usage* usage, rill_error** error) {
  if (result == nullptr || usage == nullptr || usage->struct_size < sizeof(size_t)) {
    return fail(ErrorCode::kInvalidArgument,
                "result usage: result or usage is NULL, or struct_size is not set", error);
  }
  const tasks::Transcript& t = result->transcript;
  const rill_usage full = {usage->struct_size, t.audio_s, t.wall_s, t.prompt_steps,
                           t.generated_tokens};
  std::memcpy(usage, &full, std::min(usage->struct_size, sizeof full));
  return RILL_OK;
}

rill_status rill_result_format(const rill_result* result, const char* format, rill_string** text,
                               rill_error** error) {
  if (result == nullptr || format == nullptr || text == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "format result: result, format or text is NULL",
                error);
  }
  auto formatted = tasks::format_transcript(result->transcript, format);
  if (!formatted) return fail(std::move(formatted).error(), error);
  *text = new rill_string{std::move(formatted).value()};
  return RILL_OK;
}

}  // extern "C"
