// SPDX-License-Identifier: Apache-2.0
#include "tasks/asr_options.h"

#include "base/str_cat.h"
#include "tasks/option_values.h"

namespace rill::tasks {
namespace {

Status set_language(std::string_view, std::string_view value, AsrOptions& options) {
  options.language = std::string(value);
  return {};
}

Status set_max_tokens(std::string_view key, std::string_view value, AsrOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.max_tokens, parse_count(key, value, 1));
  return {};
}

Status set_chunk_mode(std::string_view key, std::string_view value, AsrOptions& options) {
  if (value == "auto") {
    options.audio_chunk_mode = AudioChunkMode::kAuto;
  } else if (value == "vad") {
    options.audio_chunk_mode = AudioChunkMode::kVad;
  } else if (value == "fixed") {
    options.audio_chunk_mode = AudioChunkMode::kFixed;
  } else if (value == "none") {
    options.audio_chunk_mode = AudioChunkMode::kNone;
  } else {
    return bad_option_value(key, value, "auto, vad, fixed or none");
  }
  return {};
}

Status set_chunk_duration(std::string_view key, std::string_view value, AsrOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.audio_chunk_duration_s, parse_seconds(key, value));
  return {};
}

Status set_prompt_lookup(std::string_view key, std::string_view value, AsrOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.prompt_lookup, parse_count(key, value, 0));
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
    {"prompt_lookup", set_prompt_lookup},
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
