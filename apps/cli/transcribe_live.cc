// SPDX-License-Identifier: Apache-2.0
#include "transcribe_live.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "exit_codes.h"
#include "microphone.h"
#include "output.h"
#include "recognizer.h"

namespace rill::cli {
namespace {

/// The last line of a terminal, which shows what is being spoken.
class PartialLine {
 public:
  PartialLine() : terminal_(isatty(STDERR_FILENO) != 0) {}
  ~PartialLine() { wipe(); }
  PartialLine(const PartialLine&) = delete;
  PartialLine& operator=(const PartialLine&) = delete;

  [[nodiscard]] bool visible() const { return terminal_; }

  void show(const std::string& text) {
    if (!terminal_) return;
    std::fprintf(stderr, "\r\x1b[K%s", last_columns(text).c_str());
    std::fflush(stderr);
    shown_ = true;
  }

  void wipe() {
    if (!shown_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    shown_ = false;
  }

 private:
  /// The end of the text that fits into a line; a character may take two columns.
  static std::string last_columns(const std::string& text) {
    winsize size = {};
    size_t columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 2) columns = size.ws_col;
    size_t begin = text.size();
    for (size_t used = 0; begin > 0; --begin) {
      const auto byte = static_cast<unsigned char>(text[begin - 1]);
      if ((byte & 0xC0) == 0x80) continue;  // within a character
      used += byte < 0x80 ? 1 : 2;
      if (used >= columns) break;
    }
    return text.substr(begin);
  }

  bool terminal_;
  bool shown_ = false;
};

std::string json_line(const rill_transcript_event& event) {
  const nlohmann::ordered_json line = {
      {"type", event.kind == RILL_TRANSCRIPT_FINAL ? "final" : "partial"},
      {"start", event.segment.start_s},
      {"end", event.segment.end_s},
      {"text", std::string(event.segment.text, event.segment.text_size)}};
  return line.dump() + "\n";
}

int write_event(const std::string& format, const rill_transcript_event& event, PartialLine& line) {
  const bool is_final = event.kind == RILL_TRANSCRIPT_FINAL;
  const std::string text(event.segment.text, event.segment.text_size);
  if (is_final || format == "json") line.wipe();
  if (format == "json") return write_stdout(json_line(event));
  if (!is_final) {
    line.show(text);
    return kExitOk;
  }
  return format == "text" && !text.empty() ? write_stdout(text + "\n") : kExitOk;
}

double partial_seconds(const LiveOptions& options, bool visible) {
  if (options.partial_seconds.empty()) return visible ? 1.0 : 0.0;
  return std::atof(options.partial_seconds.c_str());
}

}  // namespace

void add_live_options(CLI::App& command, LiveOptions& options) {
  with_env(command.add_flag("--stream", options.stream,
                            "Transcribe AUDIO (by default standard input) while it comes in: an "
                            "audio file, or raw samples"));
  with_env(command.add_flag("--mic", options.microphone,
                            "Transcribe the microphone while it comes in, until Ctrl-C"));
  with_env(command.add_option("--mic-device", options.device, "ALSA's name of the microphone")
               ->capture_default_str());
  with_env(command
               .add_option("--partial-seconds", options.partial_seconds,
                           "Live: seconds between partial results, which a terminal and "
                           "--format json show; 0: none (default: 1)")
               ->check(CLI::Range(0.0, 3600.0)));
  with_env(command.add_option("--sample-rate", options.pcm.sample_rate_hz, "Of raw samples, in Hz")
               ->check(CLI::Range(1000, 768000))
               ->capture_default_str());
  with_env(command.add_option("--channels", options.pcm.channels, "Of raw samples")
               ->check(CLI::Range(1, 64))
               ->capture_default_str());
  with_env(command
               .add_option("--sample-format", options.pcm.sample_format,
                           "Of raw samples: s16le or f32le")
               ->check(CLI::IsMember({"s16le", "f32le"}))
               ->capture_default_str());
}

int show_live_transcript(Runtime& runtime, const rill_request* request, const LiveOptions& options,
                         const std::string& path, const std::string& format, ResultHandle& result) {
  LiveSource source{path, options.pcm, {}};
  SoundDevice microphone(SoundDevice::Direction::kCapture);
  if (options.microphone) {
    const int exit_code = microphone.open(options.device, kMicrophoneRateHz);
    if (exit_code != kExitOk) return exit_code;
    source.capture = [&microphone](std::span<int16_t> samples, size_t* count) {
      return microphone.read(samples, count);
    };
  }
  PartialLine line;
  int exit_code = transcribe_live(
      runtime, request, partial_seconds(options, line.visible() || format == "json"), source,
      [&](const rill_transcript_event& event) { return write_event(format, event, line); }, result);
  line.wipe();
  if (result == nullptr || format == "text" || format == "json") return exit_code;
  std::string text;
  int write_code = format_result(result.get(), format, text);
  if (write_code == kExitOk) write_code = write_stdout(text);
  return exit_code != kExitOk ? exit_code : write_code;
}

}  // namespace rill::cli
