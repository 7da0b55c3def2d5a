// SPDX-License-Identifier: Apache-2.0
// rill talk: one turn of a spoken conversation: a spoken question in, the reply's text on stdout
// and its speech as a sound file. Or, with --mic, a live conversation.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "output.h"
#include "speech_output.h"
#include "speech_request.h"
#include "talk_history.h"
#include "talk_mic.h"

namespace rill::cli {
namespace {

struct TalkOptions {
  EngineOptions engine;
  ModelOptions model;
  SpeechFlags speech;
  std::string audio;
  std::string output;
  std::string system;
  std::string history;
  MicrophoneOptions microphone;
  bool live = false;  ///< --mic
};

int make_request(const TalkOptions& options, RequestHandle& request) {
  std::vector<KeyValue> pairs = collect_speech_options(options.speech);
  if (!options.history.empty() || options.live) pairs.emplace_back("return_codes", "true");
  const int exit_code = make_speech_request(RILL_TASK_S2S, pairs, request);
  if (exit_code != kExitOk || options.system.empty()) return exit_code;
  ErrorSlot error;
  const rill_status status = rill_request_set_text(request.get(), options.system.data(),
                                                   options.system.size(), error.out());
  return status == RILL_OK ? kExitOk : report(status, error);
}

/// Text goes to stdout as it is written, unless the speech goes there.
int write_event(const TalkOptions& options, SpeechOutput& output, const rill_event& event) {
  int exit_code = kExitOk;
  if (options.output != "-") exit_code = write_stdout({event.text, event.text_size});
  if (exit_code == kExitOk && !options.output.empty())
    exit_code = output.write(event.samples, event.num_samples);
  return exit_code;
}

int reply(const TalkOptions& options, Runtime& runtime, rill_request* request,
          const std::string& question, ResultHandle& result) {
  ErrorSlot error;
  StreamHandle stream;
  const rill_status status = rill_stream_start_with_audio(
      runtime.session.get(), request, question.data(), question.size(), Out(stream), error.out());
  if (status != RILL_OK) return report(status, error);
  SpeechOutput output;
  int exit_code = options.output.empty() ? kExitOk : output.open(options.output);
  if (exit_code != kExitOk) return exit_code;
  exit_code = pull_events(
      runtime, stream.get(),
      [&](const rill_event& event) { return write_event(options, output, event); }, result);
  const int finish_code = options.output.empty() ? kExitOk : output.finish(result.get());
  if (exit_code == kExitOk && options.output != "-") exit_code = write_stdout("\n");
  return exit_code != kExitOk ? exit_code : finish_code;
}

int check_input(const TalkOptions& options) {
  if (options.live == options.audio.empty()) {
    if (options.live && !options.output.empty())
      return report_usage("--output and --mic: the reply is played, not written", "talk");
    return check_sound_path(options.output, "talk");
  }
  return report_usage(
      options.live ? "AUDIO and --mic: give one of them" : "AUDIO or --mic is missing", "talk");
}

int talk_live(TalkOptions& options) {
  RequestHandle checked;  // so that a wrong option is found before the model is loaded
  Runtime runtime;
  TalkHistory history(options.history);
  int exit_code = make_request(options, checked);
  if (exit_code == kExitOk) exit_code = history.load();
  if (exit_code == kExitOk) exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  if (exit_code != kExitOk) return exit_code;
  return talk_to_microphone(options.microphone, runtime, history,
                            [&](RequestHandle& request) { return make_request(options, request); });
}

int talk(TalkOptions& options) {
  options.model.for_speech = true;
  const int input_code = check_input(options);
  if (input_code != kExitOk) return input_code;
  if (options.live) return talk_live(options);
  RequestHandle request;
  Runtime runtime;
  std::string question;
  TalkHistory history(options.history);
  int exit_code = make_request(options, request);
  if (exit_code == kExitOk) exit_code = read_bytes(options.audio, question);
  if (exit_code == kExitOk) exit_code = history.load();
  if (exit_code == kExitOk) exit_code = history.add_turns(request.get());
  if (exit_code == kExitOk) exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  ResultHandle result;
  if (exit_code == kExitOk) exit_code = reply(options, runtime, request.get(), question, result);
  if (exit_code == kExitOk && !options.history.empty())
    exit_code = history.append_turn(question, result.get());
  return exit_code;
}

}  // namespace

void add_talk_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TalkOptions>();
  CLI::App* command = app.add_subcommand("talk", "One spoken turn: answer a spoken question");
  command->add_option("AUDIO", options->audio,
                      "The question: an audio file, or - for standard input");
  with_env(command->add_flag("--mic", options->live,
                             "Talk with the microphone and the loudspeaker until Ctrl-C"));
  with_env(command
               ->add_option("--mic-device", options->microphone.microphone,
                            "ALSA's name of the microphone")
               ->capture_default_str());
  with_env(command
               ->add_option("--speaker-device", options->microphone.speaker,
                            "ALSA's name of the loudspeaker; none: do not play replies")
               ->capture_default_str());
  with_env(command
               ->add_option("--pause-ms", options->microphone.pause_ms,
                            "With --mic: the silence that ends a question")
               ->check(CLI::Range(100, 10000))
               ->capture_default_str());
  with_env(command->add_option(
      "-o,--output", options->output,
      "Sound file for the spoken reply (.wav, .flac, .opus, .ogg), or - for standard output (then "
      "without its text)"));
  with_env(command->add_option(
      "--history", options->history,
      "Folder that keeps the conversation: earlier turns are read, this one is added"));
  with_env(command->add_option("--system", options->system,
                               "System prompt, the same for every turn of a conversation"));
  add_model_options(*command, options->model);
  add_speech_flags(*command, options->speech);
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill talk question.wav -o reply.wav\n"
      "  rill talk next.wav -o reply2.wav --history conversation\n"
      "  rill talk --mic");
  command->callback([options, &exit_code] { exit_code = talk(*options); });
}

}  // namespace rill::cli
