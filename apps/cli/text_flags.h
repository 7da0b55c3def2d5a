// SPDX-License-Identifier: Apache-2.0
// Flags that the text commands share: the model's and those of sampling.
#pragma once

#include <string>
#include <vector>

#include "handles.h"
#include "options.h"
#include "runtime.h"

namespace rill::cli {

struct TextFlags {
  EngineOptions engine;
  ModelOptions model;
  std::string context_length;
  std::string kv_type;
  std::string chat_template;
  std::string cache_dir;
  std::vector<KeyValue> options;  ///< of the request, in the order of their flags' values
  std::string max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, presence_penalty,
      frequency_penalty, seed, logit_bias, prompt_lookup, schema_file, regex, grammar_file;
  std::vector<std::string> stop;
  std::vector<std::string> request_options;
};

void add_text_flags(CLI::App& command, TextFlags& flags);

/// What the flags say as options of the request; reads the files that they name.
/// Returns 0, or an exit code after printing why.
int collect_text_options(const TextFlags& flags, std::vector<KeyValue>& options);

/// Sets options of a request. Returns 0, or an exit code after printing why.
int set_options(rill_request* request, const std::vector<KeyValue>& options);

/// Opens engine, model and session; without a model it says where one comes from.
int open_text_runtime(TextFlags& flags, const std::string& command, Runtime& runtime);

/// Reads a whole file, or standard input for "-".
int read_input(const std::string& path, std::string& text);

}  // namespace rill::cli
