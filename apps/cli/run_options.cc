// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <CLI/CLI.hpp>

#include "exit_codes.h"
#include "speech_output.h"

namespace rill::cli {
namespace {

struct MappedFlag {
  const char* flag;
  const char* key;
  const char* help;
};

constexpr MappedFlag kRequestFlags[] = {
    {"--language", "language", "auto, or the model's language"},
    {"--max-tokens", "max_tokens", "Most steps of one chunk or reply (default: 512; s2s: 1024)"},
    {"--audio-chunk-mode", "audio_chunk_mode",
     "How long audio is cut: auto (the default), vad, fixed, none"},
    {"--audio-chunk-seconds", "audio_chunk_duration_sec",
     "Longest chunk, at least 1 (default: 30)"},
    {"--seed", "seed", "tts, s2s: seed of the sampling (default: random)"},
    {"--temperature", "temperature",
     "tts, s2s: temperature of the sampling; 0: greedy (default: the model's own, else 0.8; s2s: "
     "1.0)"},
    {"--top-k", "top_k",
     "tts, s2s: sample from the K most likely; 0: from all (default: the model's own, else 64; "
     "s2s: 4)"},
    {"--text-chunk-mode", "text_chunk_mode",
     "tts: how long text is cut: default, tag_aware, japanese (Japanese models' default), endline"},
    {"--text-chunk-size", "text_chunk_size",
     "tts: longest chunk of text in characters (default: 200)"},
};

void add_mapped_flag(CLI::App& command, const MappedFlag& flag, std::vector<KeyValue>& values) {
  const std::string key = flag.key;
  const std::function<void(const std::string&)> store = [&values, key](const std::string& value) {
    values.emplace_back(key, value);
  };
  with_env(command.add_option_function<std::string>(flag.flag, store, flag.help));
}

int refuse(const std::string& message) { return report_usage(message, "run"); }

/// Names a flag that was given and that the task has no use for, or nullptr.
const char* find_useless_flag(const RunOptions& options) {
  const bool is_asr = options.task == "asr";
  const bool is_tts = options.task == "tts";
  if (is_asr && !options.text.empty()) return "--text";
  if (!is_tts && !options.voice.empty()) return "--voice-id";
  if (is_asr && !options.out.empty()) return "--out";
  if (is_tts && !options.audio.empty()) return "--audio";
  return nullptr;
}

/// What the task works on comes from a flag or from the sequence, and speech goes to a file.
int check_input_and_output(const RunOptions& options) {
  const bool is_tts = options.task == "tts";
  const std::string flag = is_tts ? "--text" : "--audio";
  const bool has_input = is_tts ? !options.text.empty() : !options.audio.empty();
  if (has_input && !options.request_sequence.empty())
    return refuse(flag + " and --request-sequence: give one of them");
  if (!has_input && options.request_sequence.empty())
    return refuse("the task " + options.task + " needs " + flag + " or --request-sequence");
  if (is_tts && !options.text_out.empty())
    return refuse("--text-out " + options.text_out + ": the task tts gives no text");
  if (is_tts && options.out.empty()) return refuse("the task tts needs --out");
  if (options.out == "-")
    return refuse("--out -: standard output has the results; rill speak and rill talk write there");
  return check_sound_path(options.out, "run");
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  with_env(command.add_option("--task", options.task,
                              "asr: transcribe; tts: speak a text; s2s: answer a spoken question"));
  with_env(command.add_option("--family", options.family, "Model family")->capture_default_str());
  with_env(
      command.add_option("--backend", options.backend, "Where to compute")->capture_default_str());
  with_env(command
               .add_option("--mode", options.mode,
                           "offline; streaming: write the speech while it is made (tts, s2s), "
                           "transcribe --audio while it comes in (asr)")
               ->capture_default_str());
  with_env(command.add_option("--audio", options.audio,
                              "asr, s2s: audio file, or - for standard input; streamed, that "
                              "may be raw samples, taken while they come"));
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
  with_env(command.add_option("--text", options.text,
                              "tts: the text to speak; s2s: another system prompt"));
  with_env(command.add_option("--voice-id", options.voice,
                              "tts: us_male (the default), us_female, uk_male, uk_female"));
  with_env(command.add_option("--out", options.out,
                              "tts, s2s: sound file to write: .wav, .flac, .opus, .ogg"));
  with_env(command.add_option("--text-out", options.text_out,
                              "asr, s2s: also write the text to this file"));
  with_env(command.add_option("--request-sequence", options.request_sequence,
                              "JSON file with requests to run in one session"));
  with_env(command.add_option("--load-option", options.load_options, "The family takes none")
               ->allow_extra_args(false));
  with_env(command
               .add_option("--request-option", options.request_options,
                           "Option of the request, as key=value; repeatable")
               ->allow_extra_args(false));
  with_env(command.add_flag("--log", options.log, "Show information on stderr, like -v"));
  with_env(command.add_flag("--inspect", options.inspect,
                            "Describe the files of --model instead of running a task"));
  with_env(command.add_flag("--list-loaders", options.list_loaders,
                            "Print the families that this build loads, and their tasks"));
  for (const MappedFlag& flag : kRequestFlags)
    add_mapped_flag(command, flag, options.request_flags);
}

int check_run_options(const RunOptions& options) {
  if (options.task.empty()) return refuse("--task is missing; this build has asr, tts, s2s");
  if (options.task != "asr" && !options.speaks())
    return refuse("--task " + options.task + ": unknown task; this build has asr, tts, s2s");
  if (options.family != "lfm2_audio") {
    return refuse("--family " + options.family + ": unknown family; this build has lfm2_audio");
  }
  if (options.backend != "cpu") {
    return refuse("--backend " + options.backend + ": not in this build; it has cpu");
  }
  if (options.mode != "offline" && options.mode != "streaming")
    return refuse("--mode " + options.mode + ": unknown mode; use offline or streaming");
  if (const char* flag = find_useless_flag(options); flag != nullptr)
    return refuse(std::string(flag) + ": the task " + options.task + " does not take it");
  if (!options.load_options.empty()) {
    return refuse("--load-option " + options.load_options.front() +
                  ": lfm2_audio takes no load options");
  }
  return check_input_and_output(options);
}

std::vector<KeyValue> collect_run_request_options(const RunOptions& options) {
  std::vector<KeyValue> pairs = options.request_flags;
  for (KeyValue& pair : split_key_values("--request-option", options.request_options)) {
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace rill::cli
