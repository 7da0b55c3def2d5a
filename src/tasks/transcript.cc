// SPDX-License-Identifier: Apache-2.0
#include "tasks/transcript.h"

#include <cstdio>

#include "base/json.h"
#include "base/str_cat.h"

namespace rill::tasks {
namespace {

bool is_ascii_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// OpenAI's verbose_json spells languages out.
std::string language_name(const std::string& code) {
  if (code == "en") return "english";
  if (code == "ja") return "japanese";
  return code;
}

/// "00:00:01,500" (SRT) or "00:00:01.500" (WebVTT).
std::string clock_time(double seconds, char separator) {
  const auto total_ms = static_cast<long long>(seconds * 1000.0 + 0.5);
  char text[40];
  std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld%c%03lld", total_ms / 3600000,
                total_ms / 60000 % 60, total_ms / 1000 % 60, separator, total_ms % 1000);
  return text;
}

std::string format_json(const Transcript& transcript) {
  Json root = Json::object();
  root.set("text", Json::string(transcript.text));
  return root.dump() + "\n";
}

std::string format_verbose_json(const Transcript& transcript) {
  Json segments = Json::array();
  for (const TranscriptSegment& segment : transcript.segments) {
    Json tokens = Json::array();
    for (int32_t id : segment.tokens) tokens.items().push_back(Json::integer(id));
    Json entry = Json::object();
    entry.set("id", Json::integer(static_cast<int64_t>(segments.items().size())));
    entry.set("start", Json::number(segment.start_s));
    entry.set("end", Json::number(segment.end_s));
    entry.set("text", Json::string(segment.text));
    entry.set("tokens", std::move(tokens));
    segments.items().push_back(std::move(entry));
  }
  Json root = Json::object();
  root.set("task", Json::string("transcribe"));
  root.set("language", Json::string(language_name(transcript.language)));
  root.set("duration", Json::number(transcript.audio_s));
  root.set("text", Json::string(transcript.text));
  root.set("segments", std::move(segments));
  return root.dump() + "\n";
}

/// Cue text on one line: a blank line would end the cue.
std::string cue_text(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

/// WebVTT reads markup in cues.
std::string escape_vtt(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string format_srt(const Transcript& transcript) {
  std::string out;
  size_t number = 0;
  for (const TranscriptSegment& segment : transcript.segments) {
    if (segment.text.empty()) continue;
    out += cat(++number, "\n", clock_time(segment.start_s, ','), " --> ",
               clock_time(segment.end_s, ','), "\n", cue_text(segment.text), "\n\n");
  }
  return out;
}

std::string format_vtt(const Transcript& transcript) {
  std::string out = "WEBVTT\n\n";
  for (const TranscriptSegment& segment : transcript.segments) {
    if (segment.text.empty()) continue;
    out += cat(clock_time(segment.start_s, '.'), " --> ", clock_time(segment.end_s, '.'), "\n",
               escape_vtt(cue_text(segment.text)), "\n\n");
  }
  return out;
}

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "eos";
    case StopReason::kMaxTokens:
      return "max_tokens";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kNoSpeech:
      return "no_speech";
  }
  return "unknown";
}

std::string_view trim_ascii(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string join_transcripts(const std::vector<TranscriptSegment>& segments) {
  std::string out;
  for (const TranscriptSegment& segment : segments) {
    const std::string_view text = trim_ascii(segment.text);
    if (text.empty()) continue;
    const bool ascii_left = !out.empty() && static_cast<unsigned char>(out.back()) < 0x80;
    if (ascii_left && is_ascii_alnum(text.front())) out += ' ';
    out += text;
  }
  return out;
}

Result<std::string> format_transcript(const Transcript& transcript, std::string_view format) {
  if (format == "text") return transcript.text + "\n";
  if (format == "json") return format_json(transcript);
  if (format == "verbose_json") return format_verbose_json(transcript);
  if (format == "srt") return format_srt(transcript);
  if (format == "vtt") return format_vtt(transcript);
  return Error{ErrorCode::kInvalidArgument,
               cat("output format: got '", printable(format),
                   "', expected text, json, verbose_json, srt or vtt")};
}

}  // namespace rill::tasks
