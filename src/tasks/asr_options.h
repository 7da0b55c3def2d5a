// SPDX-License-Identifier: Apache-2.0
// The request options of speech recognition, with their defaults, ranges and refusals.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rill::tasks {

/// How long audio is cut before transcription.
enum class AudioChunkMode {
  kAuto,   ///< whole up to the chunk duration, else as kVad; without a speech detector as kFixed
  kVad,    ///< at pauses, speech only
  kFixed,  ///< a chunk every chunk duration
  kNone,   ///< one pass
};

/// Source: docs of the request options (spec: audio, section 16).
struct AsrOptions {
  std::string language;     ///< "" or "auto": the checkpoint's; else it must be the checkpoint's
  size_t max_tokens = 512;  ///< per audio chunk; positive
  AudioChunkMode audio_chunk_mode = AudioChunkMode::kAuto;
  /// Seconds, at least 1. Unset: the smaller of 30 and the pass limit.
  std::optional<double> audio_chunk_duration_s;
  /// Tokens to guess ahead from the transcript so far, at most; 0: none. Changes only the time.
  size_t prompt_lookup = 0;
};

/// Sets one option from text. Errors: kInvalidArgument (an option that ASR does not take, a bad
/// value).
Status set_asr_option(std::string_view key, std::string_view value, AsrOptions& options);

}  // namespace rill::tasks
