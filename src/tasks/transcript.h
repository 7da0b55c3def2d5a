// SPDX-License-Identifier: Apache-2.0
// Transcript: what speech recognition returns, how its pieces are joined, and its text forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::tasks {

/// The transcript of one audio chunk.
struct TranscriptSegment {
  double start_s = 0;  ///< of the chunk in the input
  double end_s = 0;
  std::string text;             ///< trimmed
  std::vector<int32_t> tokens;  ///< ids as generated, without the end-of-turn token
  bool truncated = false;       ///< max_tokens ended it
};

/// Why the transcript ends where it does.
enum class StopReason { kEos, kMaxTokens, kCancelled, kNoSpeech };

/// "eos", "max_tokens", "cancelled", "no_speech".
[[nodiscard]] std::string_view stop_reason_name(StopReason reason);

struct Transcript {
  std::string text;
  std::string language;  ///< "en" or "ja"
  std::vector<TranscriptSegment> segments;
  StopReason stop_reason = StopReason::kEos;
  double audio_s = 0;
  double wall_s = 0;
  size_t prompt_steps = 0;
  size_t generated_tokens = 0;
  size_t guessed_tokens = 0;  ///< of them, those that prompt lookup had guessed
};

/// Joins chunk transcripts: each trimmed, empty ones dropped, a space only where the left one ends
/// with an ASCII character and the right one begins with an ASCII letter or digit. Source: spec:
/// audio, section 18.2.
[[nodiscard]] std::string join_transcripts(const std::vector<TranscriptSegment>& segments);

/// Strips ASCII white space at both ends.
[[nodiscard]] std::string_view trim_ascii(std::string_view text);

/// The transcript as "text", "json", "verbose_json" (OpenAI's fields; nothing is invented: no word
/// times, no probabilities), "srt" or "vtt". Text and subtitles end with a newline. Errors:
/// kInvalidArgument (another format).
Result<std::string> format_transcript(const Transcript& transcript, std::string_view format);

}  // namespace rill::tasks
