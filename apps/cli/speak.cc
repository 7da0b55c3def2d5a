// SPDX-License-Identifier: Apache-2.0
// rill speak: text to a sound file, or aloud.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>

#include "commands.h"
#include "exit_codes.h"
#include "microphone.h"
#include "speech_output.h"
#include "speech_request.h"

namespace rill::cli {
namespace {

constexpr uint32_t kSpeechRateHz = 24000;

struct SpeakOptions {
  EngineOptions engine;
  ModelOptions model;
  SpeechFlags speech;
  std::string text;
  std::string text_file;
  std::string voice;
  std::string output;
  bool stream = false;
  std::string speaker = "default";
  std::string text_chunk_mode;
  std::string text_chunk_size;
};

int read_text(const SpeakOptions& options, std::string& text) {
  if (options.text.empty() == options.text_file.empty()) {
    return report_usage(
        options.text.empty() ? "TEXT or --file is missing" : "TEXT and --file: give one of them",
        "speak");
  }
  if (options.text_file.empty()) {
    text = options.text;
    return kExitOk;
  }
  if (options.text_file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return kExitOk;
  }
  std::ifstream file(options.text_file, std::ios::binary);
  if (!file) return report(kExitUnreadable, options.text_file + ": cannot be opened");
  text.assign(std::istreambuf_iterator<char>(file), {});
  return file.bad() ? report(kExitUnreadable, options.text_file + ": cannot be read") : kExitOk;
}

int make_request(const SpeakOptions& options, const std::string& text, RequestHandle& request) {
  std::vector<KeyValue> pairs = collect_speech_options(options.speech);
  if (!options.text_chunk_mode.empty())
    pairs.emplace_back("text_chunk_mode", options.text_chunk_mode);
  if (!options.text_chunk_size.empty())
    pairs.emplace_back("text_chunk_size", options.text_chunk_size);
  const int exit_code = make_speech_request(RILL_TASK_TTS, pairs, request);
  if (exit_code != kExitOk) return exit_code;
  ErrorSlot error;
  rill_status status = rill_request_set_text(request.get(), text.data(), text.size(), error.out());
  if (status == RILL_OK && !options.voice.empty()) {
    status = rill_request_set_voice(request.get(), options.voice.c_str(), error.out());
  }
  return status == RILL_OK ? kExitOk : report(status, error);
}

/// Returns 0, or the exit code of a combination that makes no sense.
int check_output(const SpeakOptions& options) {
  if (options.output.empty() && !options.stream)
    return report_usage("--output is missing; --stream without it speaks aloud", "speak");
  if (options.output.empty()) return kExitOk;
  const int exit_code = check_sound_path(options.output, "speak");
  if (exit_code == kExitOk && options.stream && !streams_sound(options.output)) {
    return report_usage(
        "--stream: " + options.output + ": only WAV is written while it is made; use .wav or -",
        "speak");
  }
  return exit_code;
}

int speak_to_file(const SpeakOptions& options, Runtime& runtime, rill_stream* stream) {
  SpeechOutput output;
  int exit_code = output.open(options.output);
  if (exit_code != kExitOk) return exit_code;
  ResultHandle result;
  exit_code = pull_events(
      runtime, stream,
      [&](const rill_event& event) { return output.write(event.samples, event.num_samples); },
      result);
  const int finish_code = output.finish(result.get());
  return exit_code != kExitOk ? exit_code : finish_code;
}

int speak_aloud(const SpeakOptions& options, Runtime& runtime, rill_stream* stream) {
  SoundDevice speaker(SoundDevice::Direction::kPlayback);
  int exit_code = speaker.open(options.speaker, kSpeechRateHz);
  if (exit_code != kExitOk) return exit_code;
  ResultHandle result;
  exit_code = pull_events(
      runtime, stream,
      [&](const rill_event& event) {
        std::vector<int16_t> samples(event.num_samples);
        rill_samples_to_s16(event.samples, event.num_samples, samples.data());
        return speaker.write(samples);
      },
      result);
  if (exit_code == kExitOk) speaker.finish();
  return exit_code;
}

int speak(SpeakOptions& options) {
  std::string text;
  RequestHandle request;
  Runtime runtime;
  options.model.for_speech = true;
  int exit_code = check_output(options);
  if (exit_code == kExitOk) exit_code = read_text(options, text);
  if (exit_code == kExitOk) exit_code = make_request(options, text, request);
  if (exit_code == kExitOk) exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  if (exit_code != kExitOk) return exit_code;

  ErrorSlot error;
  StreamHandle stream;
  const rill_status status =
      rill_stream_start(runtime.session.get(), request.get(), Out(stream), error.out());
  if (status != RILL_OK) return report(status, error);
  return options.output.empty() ? speak_aloud(options, runtime, stream.get())
                                : speak_to_file(options, runtime, stream.get());
}

}  // namespace

void add_speak_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SpeakOptions>();
  CLI::App* command = app.add_subcommand("speak", "Text to speech");
  command->add_option("TEXT", options->text, "The text to speak");
  with_env(command->add_option("-f,--file", options->text_file,
                               "Speak a text file, or - for standard input"));
  with_env(command->add_option(
      "--voice", options->voice,
      "us_male (the default), us_female, uk_male, uk_female; Japanese models take none"));
  with_env(
      command->add_option("-o,--output", options->output,
                          "File to write, by its extension .wav, .flac, .opus or .ogg; or - for "
                          "WAV on standard output. WAV is written while it is made"));
  with_env(command->add_flag("--stream", options->stream,
                             "Speech comes out while it is made: into --output, which must be WAV "
                             "then, or without it aloud"));
  with_env(command
               ->add_option("--speaker-device", options->speaker,
                            "With --stream: ALSA's name of the loudspeaker")
               ->capture_default_str());
  with_env(command->add_option(
      "--text-chunk-mode", options->text_chunk_mode,
      "How long text is cut: default, tag_aware, japanese (Japanese models' default), endline"));
  with_env(command->add_option("--text-chunk-size", options->text_chunk_size,
                               "Characters per chunk (default: 200)"));
  add_model_options(*command, options->model);
  add_speech_flags(*command, options->speech);
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill speak \"The next train leaves in ten minutes.\" --voice us_female -o train.wav\n"
      "  rill speak -f story.txt --stream\n"
      "  rill speak -f story.txt -o - | ffmpeg -i - story.mp3");
  command->callback([options, &exit_code] { exit_code = speak(*options); });
}

}  // namespace rill::cli
