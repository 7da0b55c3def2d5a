// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <CLI/CLI.hpp>

#include "exit_codes.h"

namespace rill::cli {
namespace {

struct MappedFlag {
  const char* flag;
  const char* key;
  const char* help;
};

constexpr MappedFlag kRequestFlags[] = {
    {"--language", "language", "auto, or the model's language"},
    {"--max-tokens", "max_tokens", "Most tokens of one chunk's transcript (default: 512)"},
    {"--audio-chunk-mode", "audio_chunk_mode",
     "How long audio is cut: auto (the default), fixed, none"},
    {"--audio-chunk-seconds", "audio_chunk_duration_sec",
     "Longest chunk, at least 1 (default: 30)"},
    {"--seed", "seed", "tts, s2s: seed of the sampling"},
    {"--temperature", "temperature", "tts, s2s: temperature of the sampling"},
    {"--top-k", "top_k", "tts, s2s: sample from the K most likely"},
    {"--text-chunk-mode", "text_chunk_mode", "tts: how long text is cut"},
    {"--text-chunk-size", "text_chunk_size", "tts: longest piece of text"},
};

constexpr MappedFlag kSpeechFlags[] = {
    {"--text", "--text", "tts: the text to speak"},
    {"--voice-id", "--voice-id", "tts: the voice"},
    {"--out", "--out", "tts, s2s: the WAV file to write"},
};

void add_mapped_flag(CLI::App& command, const MappedFlag& flag, std::vector<KeyValue>& values) {
  const std::string key = flag.key;
  const std::function<void(const std::string&)> store = [&values, key](const std::string& value) {
    values.emplace_back(key, value);
  };
  with_env(command.add_option_function<std::string>(flag.flag, store, flag.help));
}

int refuse(const std::string& message) { return report_usage(message, "run"); }

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  with_env(command.add_option("--task", options.task, "asr (tts and s2s are not in this build)")
               ->required());
  with_env(command.add_option("--family", options.family, "Model family")->capture_default_str());
  with_env(
      command.add_option("--backend", options.backend, "Where to compute")->capture_default_str());
  with_env(
      command.add_option("--mode", options.mode, "offline or streaming")->capture_default_str());
  with_env(command.add_option("--audio", options.audio, "Audio file, or - for standard input"));
  with_env(command.add_option("--text-out", options.text_out, "Also write the text to this file"));
  with_env(command.add_option("--request-sequence", options.request_sequence,
                              "JSON file with requests to run in one session"));
  with_env(command.add_option("--load-option", options.load_options, "The family takes none")
               ->allow_extra_args(false));
  with_env(command
               .add_option("--request-option", options.request_options,
                           "Option of the request, as key=value; repeatable")
               ->allow_extra_args(false));
  with_env(command.add_flag("--log", options.log, "Show information on stderr, like -v"));
  for (const MappedFlag& flag : kRequestFlags)
    add_mapped_flag(command, flag, options.request_flags);
  for (const MappedFlag& flag : kSpeechFlags) add_mapped_flag(command, flag, options.speech_flags);
}

int check_run_options(const RunOptions& options) {
  if (options.task == "tts" || options.task == "s2s") {
    return refuse("--task " + options.task + ": not in this build yet; it has asr");
  }
  if (options.task != "asr")
    return refuse("--task " + options.task + ": unknown task; this build has asr");
  if (options.family != "lfm2_audio") {
    return refuse("--family " + options.family + ": unknown family; this build has lfm2_audio");
  }
  if (options.backend != "cpu") {
    return refuse("--backend " + options.backend + ": not in this build; it has cpu");
  }
  if (options.mode == "streaming")
    return refuse("--mode streaming: LFM2-Audio ASR runs offline only");
  if (options.mode != "offline")
    return refuse("--mode " + options.mode + ": unknown mode; use offline");
  if (!options.speech_flags.empty()) {
    return refuse(options.speech_flags.front().first + ": the task asr does not take it");
  }
  if (!options.load_options.empty()) {
    return refuse("--load-option " + options.load_options.front() +
                  ": lfm2_audio takes no load options");
  }
  if (options.audio.empty() == options.request_sequence.empty()) {
    return refuse(options.audio.empty() ? "the task asr needs --audio or --request-sequence"
                                        : "--audio and --request-sequence: give one of them");
  }
  return kExitOk;
}

std::vector<KeyValue> collect_run_request_options(const RunOptions& options) {
  std::vector<KeyValue> pairs = options.request_flags;
  for (KeyValue& pair : split_key_values("--request-option", options.request_options)) {
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace rill::cli
