// SPDX-License-Identifier: Apache-2.0
// A model's own defaults for request options: rill.generation.TASK.OPTION of its backbone file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/metadata.h"
#include "tasks/asr_options.h"
#include "tasks/speech_options.h"

namespace rill::tasks {

/// An option of a request as it was given.
struct OptionValue {
  std::string key;
  std::string value;
};

/// What requests of each task start from.
struct TaskDefaults {
  AsrOptions asr;
  TtsOptions tts;
  S2sOptions s2s;
};

/// The documented defaults, with those in their place that the file states. Keys of the task
/// `chat` are left to text chat.
/// Errors: kUnsupported (an unknown task; an option that no model decides: language, seed,
///         stream_frames_per_event, return_codes), kInvalidFormat (an option that the task does not
///         take, a value of a wrong type or out of range); file, key and value are named.
/// Source: docs/portable-format.md.
Result<TaskDefaults> read_task_defaults(const format::Metadata& metadata);

/// Options of a request: the defaults, then what it says itself, in its order.
/// Errors: those of `set`.
template <typename Options>
Result<Options> apply_options(Options defaults, std::span<const OptionValue> given,
                              Status (*set)(std::string_view key, std::string_view value,
                                            Options& options)) {
  for (const OptionValue& option : given) {
    RILL_RETURN_IF_ERROR(set(option.key, option.value, defaults));
  }
  return defaults;
}

}  // namespace rill::tasks
