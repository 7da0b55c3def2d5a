// SPDX-License-Identifier: Apache-2.0
#include "tasks/asr_options.h"

#include "base/parse_number.h"
#include "base/str_cat.h"

namespace rill::tasks {
namespace {

Error bad_value(std::string_view key, std::string_view value, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("request option ", key, ": got '", printable(value), "', expected ", expected)};
}

Status set_language(std::string_view, std::string_view value, AsrOptions& options) {
  options.language = std::string(value);
  return {};
}

Status set_max_tokens(std::string_view key, std::string_view value, AsrOptions& options) {
  const auto number = parse_uint(value);
  // The bound keeps step arithmetic far from overflow; no model has a longer context.
  if (!number || *number == 0 || *number > 1'000'000'000) {
    return bad_value(key, value, "a positive integer");
  }
  options.max_tokens = static_cast<size_t>(*number);
  return {};
}

Status set_chunk_mode(std::string_view key, std::string_view value, AsrOptions& options) {
  if (value == "auto") {
    options.audio_chunk_mode = AudioChunkMode::kAuto;
  } else if (value == "fixed") {
    options.audio_chunk_mode = AudioChunkMode::kFixed;
  } else if (value == "none") {
    options.audio_chunk_mode = AudioChunkMode::kNone;
  } else if (value == "vad") {
    return Error{
        ErrorCode::kUnsupported,
        cat("request option ", key, ": 'vad' is not in this build; use auto, fixed or none")};
  } else {
    return bad_value(key, value, "auto, vad, fixed or none");
  }
  return {};
}

Status set_chunk_duration(std::string_view key, std::string_view value, AsrOptions& options) {
  const auto seconds = parse_double(value);
  if (!seconds || *seconds < 1.0 || *seconds > 1e9) {
    return bad_value(key, value, "a number of seconds, 1 or more");
  }
  options.audio_chunk_duration_s = *seconds;
  return {};
}

struct Option {
  std::string_view key;
  Status (*set)(std::string_view key, std::string_view value, AsrOptions& options);
};

constexpr Option kOptions[] = {
    {"language", set_language},
    {"max_tokens", set_max_tokens},
    {"audio_chunk_mode", set_chunk_mode},
    {"audio_chunk_duration_sec", set_chunk_duration},
    // older names of the same option
    {"audio_chunk_seconds", set_chunk_duration},
    {"audio_chunk_duration_seconds", set_chunk_duration},
    {"audio_chunk_duration", set_chunk_duration},
};

}  // namespace

Status set_asr_option(std::string_view key, std::string_view value, AsrOptions& options) {
  for (const Option& option : kOptions) {
    if (option.key == key) return option.set(key, value, options);
  }
  return Error{ErrorCode::kInvalidArgument,
               cat("LFM2-Audio ASR does not take request option ", printable(key))};
}

}  // namespace rill::tasks
