// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_defaults.h"

#include <algorithm>
#include <variant>

#include "base/str_cat.h"

namespace rill::tasks {
namespace {

constexpr std::string_view kPrefix = "rill.generation.";

/// What a request decides, not a model.
constexpr std::string_view kRequestOnly[] = {"language", "seed", "stream_frames_per_event",
                                             "return_codes"};

Error refuse(const format::Metadata& metadata, std::string_view key, ErrorCode code,
             std::string_view why) {
  return Error{code, cat("read defaults: ", metadata.source(), ": ", printable(key), ": ", why)};
}

/// The value as a request would state it.
Result<std::string> value_text(const format::Metadata& metadata, std::string_view key,
                               const format::MetadataValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* whole = std::get_if<uint64_t>(&value.value)) return cat(*whole);
  if (const auto* number = std::get_if<double>(&value.value)) return cat(*number);
  return refuse(
      metadata, key, ErrorCode::kInvalidFormat,
      cat("got ", format::metadata_type_name(value.type), ", expected f32, u32 or string"));
}

Status set_default(std::string_view task, std::string_view option, std::string_view value,
                   TaskDefaults& defaults) {
  const bool request_only =
      std::find(std::begin(kRequestOnly), std::end(kRequestOnly), option) != std::end(kRequestOnly);
  if (request_only) {
    return Error{ErrorCode::kUnsupported, cat("a model has no default for ", option)};
  }
  if (task == "asr") return set_asr_option(option, value, defaults.asr);
  if (task == "tts") return set_tts_option(option, value, defaults.tts);
  if (task == "s2s") return set_s2s_option(option, value, defaults.s2s);
  return Error{ErrorCode::kUnsupported,
               cat("unknown task ", printable(task), "; this build knows asr, tts, s2s and chat")};
}

}  // namespace

Result<TaskDefaults> read_task_defaults(const format::Metadata& metadata) {
  TaskDefaults defaults;
  for (const auto& [key, entry] : metadata.all()) {
    if (!key.starts_with(kPrefix)) continue;
    const std::string_view name = std::string_view(key).substr(kPrefix.size());
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string_view task = name.substr(0, dot);
    const std::string_view option = name.substr(std::min(dot + 1, name.size()));
    if (task == "chat") continue;
    RILL_ASSIGN_OR_RETURN(const std::string value, value_text(metadata, key, entry));
    const Status set = set_default(task, option, value, defaults);
    if (set) continue;
    // To a request a bad value is an argument; here it is what the file holds.
    const bool unknown = set.error().code == ErrorCode::kUnsupported;
    return refuse(metadata, key, unknown ? ErrorCode::kUnsupported : ErrorCode::kInvalidFormat,
                  set.error().message);
  }
  return defaults;
}

}  // namespace rill::tasks
