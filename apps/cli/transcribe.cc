// SPDX-License-Identifier: Apache-2.0
// rill transcribe: speech to text, one transcript per file on stdout, and subtitle files beside the
// input.
#include <CLI/CLI.hpp>
#include <array>

#include "commands.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "recognizer.h"
#include "transcribe_live.h"

namespace rill::cli {
namespace {

struct TranscribeOptions {
  EngineOptions engine;
  ModelOptions model;
  std::vector<std::string> audio;
  std::string format = "text";
  std::string language;
  std::string chunk;
  std::string chunk_seconds;
  std::string max_tokens;
  std::string prompt_lookup;
  std::vector<std::string> request_options;
  bool output_txt = false;
  bool output_srt = false;
  bool output_vtt = false;
  bool output_json = false;
  std::string output_file;
  LiveOptions live;
};

struct FileForm {
  bool TranscribeOptions::*wanted;
  const char* format;
  const char* extension;
};

constexpr std::array<FileForm, 4> kFileForms = {
    {{&TranscribeOptions::output_txt, "text", ".txt"},
     {&TranscribeOptions::output_srt, "srt", ".srt"},
     {&TranscribeOptions::output_vtt, "vtt", ".vtt"},
     {&TranscribeOptions::output_json, "verbose_json", ".json"}}};

void add_output_options(CLI::App& command, TranscribeOptions& options) {
  const std::vector<std::string> formats = {"text", "json", "verbose_json", "srt", "vtt"};
  with_env(command
               .add_option("--format,--output-format", options.format,
                           "Form of the transcript on stdout")
               ->check(CLI::IsMember(formats))
               ->capture_default_str());
  with_env(command.add_flag("--output-txt", options.output_txt, "-otxt: also write AUDIO.txt"));
  with_env(command.add_flag("--output-srt", options.output_srt, "-osrt: also write AUDIO.srt"));
  with_env(command.add_flag("--output-vtt", options.output_vtt, "-ovtt: also write AUDIO.vtt"));
  with_env(command.add_flag("--output-json", options.output_json, "-oj: also write AUDIO.json"));
  with_env(command.add_option("--output-file", options.output_file,
                              "-of: name of these files, without the extension (one AUDIO only)"));
}

void add_request_options(CLI::App& command, TranscribeOptions& options) {
  with_env(command.add_option("--language", options.language,
                              "auto, or the model's language; another one is refused"));
  with_env(
      command.add_option("--chunk", options.chunk,
                         "How long audio is cut: auto (the default: vad above a chunk's length), "
                         "vad (at pauses), fixed, none"));
  with_env(command.add_option("--chunk-seconds", options.chunk_seconds,
                              "Longest chunk, at least 1 (default: 30)"));
  with_env(command.add_option("-n,--max-tokens", options.max_tokens,
                              "Most tokens of one chunk's transcript (default: 512)"));
  with_env(command.add_option("--prompt-lookup", options.prompt_lookup,
                              "Tokens to guess ahead from the transcript so far; 0 (the default): "
                              "none. Changes no transcript"));
  with_env(command
               .add_option("--request-option", options.request_options,
                           "Any other option of the request, as key=value; repeatable")
               ->allow_extra_args(false));
}

std::vector<KeyValue> collect_request_options(const TranscribeOptions& options) {
  std::vector<KeyValue> pairs;
  if (!options.language.empty()) pairs.emplace_back("language", options.language);
  if (!options.chunk.empty()) pairs.emplace_back("audio_chunk_mode", options.chunk);
  if (!options.chunk_seconds.empty()) {
    pairs.emplace_back("audio_chunk_duration_sec", options.chunk_seconds);
  }
  if (!options.max_tokens.empty()) pairs.emplace_back("max_tokens", options.max_tokens);
  if (!options.prompt_lookup.empty()) pairs.emplace_back("prompt_lookup", options.prompt_lookup);
  for (KeyValue& pair : split_key_values("--request-option", options.request_options)) {
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

bool writes_files(const TranscribeOptions& options) {
  for (const FileForm& form : kFileForms) {
    if (options.*form.wanted) return true;
  }
  return false;
}

/// Returns 0, or the exit code of a combination that makes no sense.
int check_input_options(const TranscribeOptions& options) {
  if (options.live.microphone && !options.audio.empty())
    return report_usage("AUDIO and --mic: give one of them", "transcribe");
  if (options.live.stream && options.audio.size() > 1)
    return report_usage("--stream: takes one AUDIO, got several", "transcribe");
  if (!options.live.is_live() && options.audio.empty())
    return report_usage("AUDIO is missing; - is standard input", "transcribe");
  return kExitOk;
}

/// Returns 0, or the exit code of a combination that makes no sense.
int check_output_options(const TranscribeOptions& options) {
  const bool several = options.audio.size() > 1;
  if (several && (options.format == "srt" || options.format == "vtt")) {
    return report_usage("--format " + options.format +
                            ": subtitles of several files cannot share stdout; use -o" +
                            options.format + ", which writes one file for each",
                        "transcribe");
  }
  if (!options.output_file.empty() && (several || !writes_files(options))) {
    return report_usage(several ? "--output-file: names the files of one AUDIO, got several"
                                : "--output-file: needs -otxt, -osrt, -ovtt or -oj",
                        "transcribe");
  }
  const bool is_nameless = options.live.is_live() && options.audio.empty();
  for (const std::string& path : is_nameless ? std::vector<std::string>{"-"} : options.audio) {
    if (path == "-" && writes_files(options) && options.output_file.empty()) {
      return report_usage(
          (options.live.microphone ? std::string("the microphone") : "standard input") +
              " has no name for the files beside it; add --output-file",
          "transcribe");
    }
  }
  return kExitOk;
}

int write_files(const TranscribeOptions& options, const std::string& path,
                const rill_result* result) {
  std::string text;
  int exit_code = kExitOk;
  const std::string& base = options.output_file.empty() ? path : options.output_file;
  for (const FileForm& form : kFileForms) {
    if (exit_code != kExitOk || !(options.*form.wanted)) continue;
    exit_code = format_result(result, form.format, text);
    if (exit_code == kExitOk) exit_code = write_file(base + form.extension, text);
  }
  return exit_code;
}

int write_result(const TranscribeOptions& options, const std::string& path,
                 const rill_result* result) {
  std::string text;
  int exit_code = format_result(result, options.format, text);
  if (exit_code == kExitOk) exit_code = write_stdout(text);
  return exit_code == kExitOk ? write_files(options, path, result) : exit_code;
}

int transcribe_stream(const TranscribeOptions& options, Runtime& runtime, rill_request* request) {
  const std::string path = options.audio.empty() ? "-" : options.audio[0];
  ResultHandle result;
  const int exit_code =
      show_live_transcript(runtime, request, options.live, path, options.format, result);
  const int write_code = result != nullptr ? write_files(options, path, result.get()) : kExitOk;
  return exit_code != kExitOk ? exit_code : write_code;
}

int transcribe(const TranscribeOptions& options) {
  RequestHandle request;
  int exit_code = check_input_options(options);
  if (exit_code == kExitOk) exit_code = check_output_options(options);
  if (exit_code == kExitOk) exit_code = make_asr_request(collect_request_options(options), request);
  if (exit_code != kExitOk) return exit_code;

  Runtime runtime;
  exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  if (exit_code != kExitOk) return exit_code;
  if (options.live.is_live()) return transcribe_stream(options, runtime, request.get());

  int first_failure = kExitOk;
  for (const std::string& path : options.audio) {
    ResultHandle result;
    exit_code = recognize_file(runtime, request.get(), path, result);
    // A cancelled run may still have a finished part.
    if (result != nullptr) {
      const int write_code = write_result(options, path, result.get());
      if (exit_code == kExitOk) exit_code = write_code;
    }
    if (first_failure == kExitOk) first_failure = exit_code;
    if (interrupt_exit_code() != 0) return interrupt_exit_code();
    if (stdout_closed() && !writes_files(options)) break;
  }
  return first_failure;
}

}  // namespace

void add_transcribe_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TranscribeOptions>();
  CLI::App* command = app.add_subcommand("transcribe", "Speech to text");
  command->add_option(
      "AUDIO", options->audio,
      "Audio files, or - for standard input: WAV and, where built in, FLAC, Ogg, MP3, Opus");
  add_model_options(*command, options->model);
  add_request_options(*command, *options);
  add_output_options(*command, *options);
  add_live_options(*command, options->live);
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill transcribe -m LFM2.5-Audio-1.5B-GGUF talk.wav -osrt\n"
      "  ffmpeg -i talk.mkv -f wav - | rill transcribe -\n"
      "  ffmpeg -i talk.mkv -f s16le -ac 1 -ar 16000 - | rill transcribe --stream\n"
      "  rill transcribe --mic");
  command->callback([options, &exit_code] { exit_code = transcribe(*options); });
}

}  // namespace rill::cli
