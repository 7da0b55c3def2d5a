// SPDX-License-Identifier: Apache-2.0
// The flags of `rill run`, which are audio.cpp's, and what they ask for.
#pragma once

#include <string>
#include <vector>

#include "live_pcm.h"
#include "options.h"

namespace rill::cli {

struct RunOptions {
  EngineOptions engine;
  ModelOptions model;
  std::string task;
  std::string family = "lfm2_audio";
  std::string backend = "cpu";
  std::string mode = "offline";
  std::string audio;
  std::string text;   ///< what TTS speaks; the system prompt of S2S
  std::string voice;  ///< of TTS
  std::string out;    ///< WAV file of the tasks that speak
  std::string text_out;
  std::string request_sequence;
  std::vector<std::string> load_options;
  std::vector<std::string> request_options;
  PcmFormat pcm;  ///< of raw samples on standard input
  bool log = false;
  bool inspect = false;
  bool list_loaders = false;
  std::vector<KeyValue>
      request_flags;  ///< flags that stand for a request option, as (option, value)

  [[nodiscard]] bool speaks() const { return task == "tts" || task == "s2s"; }
};

void add_run_options(CLI::App& command, RunOptions& options);

/// Refuses, by name, what this build cannot do and what the task does not take. Returns 0, or an
/// exit code after printing why.
int check_run_options(const RunOptions& options);

/// The request options that the flags ask for.
std::vector<KeyValue> collect_run_request_options(const RunOptions& options);

}  // namespace rill::cli
