// SPDX-License-Identifier: Apache-2.0
// Flags that several commands share, and the rule that each flag can also be set in the
// environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rill::cli {

/// What every command that computes takes.
struct EngineOptions {
  int threads = 0;        ///< 0: as many as there are physical cores
  int threads_batch = 0;  ///< for prompts and audio; 0: threads
  std::string log_file;
  int verbosity = 0;
};

/// What every command that loads a model takes.
struct ModelOptions {
  std::string model;    ///< path, or name in the model cache; empty: the embedded demo model
  std::string hf_repo;  ///< ORG/REPO[:TYPE], fetched if it is not in the cache; wins over model
  bool offline = false;
  std::string repack;
  std::string vad_file;  ///< weights of the speech detector; empty: the embedded ones, if any
  std::vector<std::string> session_options;  ///< key=value
  bool for_speech = false;                   ///< also load what speaks; set by the command
  bool for_text = false;                     ///< of a package only the language model; likewise
};

/// Lets the environment set an option: --some-flag as RILL_SOME_FLAG. Returns the option.
CLI::Option* with_env(CLI::Option* option);

void add_engine_options(CLI::App& command, EngineOptions& options);
/// The option alone, for commands that detect speech without a model.
void add_vad_option(CLI::App& command, std::string& vad_file);
/// -m, -hf and --offline alone; `what` says which models the command takes.
void add_model_choice(CLI::App& command, ModelOptions& options, const std::string& what);
void add_model_options(CLI::App& command, ModelOptions& options);

/// A flag's value and the library's option that it sets.
using KeyValue = std::pair<std::string, std::string>;

/// Splits "key=value" items at their first '='.
/// Throws CLI::ValidationError, which main reports as a usage error, for an item without one.
std::vector<KeyValue> split_key_values(const std::string& flag,
                                       const std::vector<std::string>& items);

/// The flags of several letters after one dash (whisper.cpp's -otxt, -osrt, -ovtt, -oj, -of and
/// llama.cpp's -hf) in their long form, which is all that the parser takes. Stops at "--".
std::vector<std::string> expand_short_flags(const std::vector<std::string>& arguments);

}  // namespace rill::cli
