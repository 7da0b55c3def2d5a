// SPDX-License-Identifier: Apache-2.0
// The request options of speech synthesis and of spoken chat, with defaults, ranges and refusals.
// Source: docs of the request options (spec: audio, section 16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tasks/text_chunks.h"

namespace rill::tasks {

/// Speech synthesis (TTS).
struct TtsOptions {
  std::string language;      ///< "" or "auto": the checkpoint's; else it must be the checkpoint's
  size_t max_tokens = 512;   ///< frames per text chunk; positive
  float temperature = 0.8f;  ///< 0: greedy
  size_t top_k = 64;         ///< 0: all codes, 1: greedy
  std::optional<uint64_t> seed;  ///< chunk i uses seed + i; unset: random
  std::optional<TextChunkMode>
      text_chunk_mode;           ///< unset: kJapanese for a Japanese checkpoint, else kDefault
  size_t text_chunk_size = 200;  ///< code points per chunk; positive
  size_t stream_frames_per_event = 1;  ///< positive
};

/// Spoken chat (S2S).
struct S2sOptions {
  std::string language;      ///< as for TtsOptions
  size_t max_tokens = 1024;  ///< text tokens and frames together; positive
  float temperature = 1.0f;  ///< of the codes
  size_t top_k = 4;
  float text_temperature = 0.0f;
  size_t text_top_k = 0;
  std::optional<uint64_t> seed;  ///< unset: random
  size_t stream_frames_per_event = 1;
  bool return_codes = false;  ///< also return the reply as an artifact for the next turn
};

/// Sets one option from text. Errors: kInvalidArgument (an option that the task does not take, a
/// bad value).
Status set_tts_option(std::string_view key, std::string_view value, TtsOptions& options);
Status set_s2s_option(std::string_view key, std::string_view value, S2sOptions& options);

}  // namespace rill::tasks
