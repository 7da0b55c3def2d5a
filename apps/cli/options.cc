// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>

namespace rill::cli {

CLI::Option* with_env(CLI::Option* option) {
  std::string name = "RILL_";
  for (const char c : option->get_lnames().at(0)) {
    if (c == '-') {
      name += '_';
    } else {
      name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return option->envname(name);
}

void add_engine_options(CLI::App& command, EngineOptions& options) {
  with_env(command.add_option("-t,--threads", options.threads, "Threads; 0: one per physical core")
               ->check(CLI::Range(0, 256))
               ->capture_default_str());
  with_env(command
               .add_option("--threads-batch", options.threads_batch,
                           "Also -tb: threads for prompts and audio; 0: those of --threads")
               ->check(CLI::Range(0, 256))
               ->capture_default_str());
  with_env(command.add_option("--log-file", options.log_file, "Append messages to this file"));
  with_env(command.add_flag("-v,--verbose", options.verbosity,
                            "Show information on stderr; twice: also debug messages"));
}

void add_vad_option(CLI::App& command, std::string& vad_file) {
  with_env(command.add_option("--vad-file", vad_file,
                              "Weights of the speech detector instead of the embedded ones: "
                              "silero_vad_16k.safetensors, or its directory"));
}

void add_model_choice(CLI::App& command, ModelOptions& options, const std::string& what) {
  with_env(command.add_option("-m,--model", options.model, what));
  with_env(command.add_option(
      "--hf-repo", options.hf_repo,
      "Also -hf: model by its repository, ORG/REPO[:TYPE]; fetched if it is not in the cache"));
  with_env(command.add_flag("--offline", options.offline, "Never ask the network for a model"));
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  add_model_choice(
      command, options,
      "Model: a path, or a name of 'rill models list'; without it the embedded demo model");
  with_env(command.add_option(
      "--repack", options.repack,
      "Pack weights for the kernels: true (the default), or false: loads sooner, runs slower"));
  add_vad_option(command, options.vad_file);
  with_env(command
               .add_option("--session-option", options.session_options,
                           "Option of the loaded model, as key=value; repeatable")
               ->allow_extra_args(false));
}

std::vector<KeyValue> split_key_values(const std::string& flag,
                                       const std::vector<std::string>& items) {
  std::vector<KeyValue> pairs;
  for (const std::string& item : items) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw CLI::ValidationError(flag, "got '" + item + "', expected key=value");
    }
    pairs.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return pairs;
}

std::vector<std::string> expand_short_flags(const std::vector<std::string>& arguments) {
  struct ShortFlag {
    std::string_view short_form;
    std::string_view long_form;
  };
  constexpr std::array<ShortFlag, 7> kFlags = {{{"-hf", "--hf-repo"},
                                                {"-tb", "--threads-batch"},
                                                {"-otxt", "--output-txt"},
                                                {"-osrt", "--output-srt"},
                                                {"-ovtt", "--output-vtt"},
                                                {"-oj", "--output-json"},
                                                {"-of", "--output-file"}}};
  std::vector<std::string> expanded = arguments;
  for (std::string& argument : expanded) {
    if (argument == "--") break;
    for (const ShortFlag& flag : kFlags) {
      if (argument == flag.short_form) argument = flag.long_form;
    }
  }
  return expanded;
}

}  // namespace rill::cli
