// SPDX-License-Identifier: Apache-2.0
#include "tasks/speech_options.h"

#include "base/str_cat.h"
#include "tasks/option_values.h"

namespace rill::tasks {
namespace {

template <typename Options>
struct Option {
  std::string_view key;
  Status (*set)(std::string_view key, std::string_view value, Options& options);
};

// Setters of fields that both tasks have.
template <typename Options>
Status set_language(std::string_view, std::string_view value, Options& options) {
  options.language = std::string(value);
  return {};
}

template <typename Options>
Status set_max_tokens(std::string_view key, std::string_view value, Options& options) {
  RILL_ASSIGN_OR_RETURN(options.max_tokens, parse_count(key, value, 1));
  return {};
}

template <typename Options>
Status set_temperature(std::string_view key, std::string_view value, Options& options) {
  RILL_ASSIGN_OR_RETURN(options.temperature, parse_temperature(key, value));
  return {};
}

template <typename Options>
Status set_top_k(std::string_view key, std::string_view value, Options& options) {
  RILL_ASSIGN_OR_RETURN(options.top_k, parse_count(key, value, 0));
  return {};
}

template <typename Options>
Status set_seed(std::string_view key, std::string_view value, Options& options) {
  RILL_ASSIGN_OR_RETURN(options.seed, parse_seed(key, value));
  return {};
}

template <typename Options>
Status set_frames_per_event(std::string_view key, std::string_view value, Options& options) {
  RILL_ASSIGN_OR_RETURN(options.stream_frames_per_event, parse_count(key, value, 1));
  return {};
}

Status set_text_chunk_mode(std::string_view key, std::string_view value, TtsOptions& options) {
  options.text_chunk_mode = text_chunk_mode_by_name(value);
  if (options.text_chunk_mode) return {};
  return bad_option_value(key, value, "default, tag_aware, japanese or endline");
}

Status set_text_chunk_size(std::string_view key, std::string_view value, TtsOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.text_chunk_size, parse_count(key, value, 1));
  return {};
}

Status set_text_temperature(std::string_view key, std::string_view value, S2sOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.text_temperature, parse_temperature(key, value));
  return {};
}

Status set_text_top_k(std::string_view key, std::string_view value, S2sOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.text_top_k, parse_count(key, value, 0));
  return {};
}

Status set_return_codes(std::string_view key, std::string_view value, S2sOptions& options) {
  RILL_ASSIGN_OR_RETURN(options.return_codes, parse_flag(key, value));
  return {};
}

constexpr Option<TtsOptions> kTtsOptions[] = {
    {"language", set_language<TtsOptions>},
    {"max_tokens", set_max_tokens<TtsOptions>},
    {"temperature", set_temperature<TtsOptions>},
    {"top_k", set_top_k<TtsOptions>},
    {"seed", set_seed<TtsOptions>},
    {"text_chunk_mode", set_text_chunk_mode},
    {"chunk_mode", set_text_chunk_mode},
    {"text_chunk_size", set_text_chunk_size},
    {"chunk_size", set_text_chunk_size},
    {"stream_frames_per_event", set_frames_per_event<TtsOptions>},
};

constexpr Option<S2sOptions> kS2sOptions[] = {
    {"language", set_language<S2sOptions>},
    {"max_tokens", set_max_tokens<S2sOptions>},
    {"temperature", set_temperature<S2sOptions>},
    {"top_k", set_top_k<S2sOptions>},
    {"text_temperature", set_text_temperature},
    {"text_top_k", set_text_top_k},
    {"seed", set_seed<S2sOptions>},
    {"stream_frames_per_event", set_frames_per_event<S2sOptions>},
    {"return_codes", set_return_codes},
};

template <typename Options, size_t N>
Status set_from_table(const Option<Options> (&table)[N], std::string_view task,
                      std::string_view key, std::string_view value, Options& options) {
  for (const Option<Options>& option : table) {
    if (option.key == key) return option.set(key, value, options);
  }
  return Error{ErrorCode::kInvalidArgument,
               cat("LFM2-Audio ", task, " does not take request option ", printable(key))};
}

}  // namespace

Status set_tts_option(std::string_view key, std::string_view value, TtsOptions& options) {
  return set_from_table(kTtsOptions, "TTS", key, value, options);
}

Status set_s2s_option(std::string_view key, std::string_view value, S2sOptions& options) {
  return set_from_table(kS2sOptions, "s2s", key, value, options);
}

}  // namespace rill::tasks
