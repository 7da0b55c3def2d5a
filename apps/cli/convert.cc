// SPDX-License-Identifier: Apache-2.0
// rill convert: a checkpoint's directory to GGUF.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "file_work.h"
#include "runtime.h"

namespace rill::cli {
namespace {

struct ConvertOptions {
  EngineOptions engine;
  std::string input;
  std::string output;
  std::string type;
  std::string name;
  std::string language;
  std::string tokenizer;
  std::string source_repo;
  std::string source_revision;
  std::vector<std::string> defaults;  ///< TASK.OPTION=VALUE
  bool lean = false;
  bool overwrite = false;
};

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

int convert(const ConvertOptions& options) {
  const std::vector<KeyValue> pairs = split_key_values("--default", options.defaults);
  std::vector<rill_option> defaults;
  for (const auto& [key, value] : pairs) defaults.push_back({key.c_str(), value.c_str()});
  Runtime runtime;
  const int exit_code = open_engine(options.engine, runtime);
  if (exit_code != kExitOk) return exit_code;
  FileWork work("converting");
  rill_convert_options run = {};
  run.struct_size = sizeof run;
  run.input = options.input.c_str();
  run.output = options.output.c_str();
  run.type = text_or_null(options.type);
  run.name = text_or_null(options.name);
  run.language = text_or_null(options.language);
  run.tokenizer = text_or_null(options.tokenizer);
  run.source_repo = text_or_null(options.source_repo);
  run.source_revision = text_or_null(options.source_revision);
  run.lean = options.lean ? 1 : 0;
  run.overwrite = options.overwrite ? 1 : 0;
  run.defaults = defaults.data();
  run.num_defaults = defaults.size();
  run.progress = FileWork::tell;
  run.progress_user = &work;
  ErrorSlot error;
  StringHandle text;
  const rill_status status = rill_convert(runtime.engine.get(), &run, Out(text), error.out());
  return work.finish(status, text, error);
}

}  // namespace

void add_convert_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "Write a checkpoint as GGUF");
  command->add_option("INPUT", options->input, "Directory with config.json and safetensors")
      ->required();
  command
      ->add_option("OUTPUT", options->output,
                   "GGUF file; for a speech model the directory of its four files")
      ->required();
  with_env(
      command->add_option("--type", options->type,
                          "F32, F16 or BF16 (default: as the checkpoint stores its matrices)"));
  with_env(command->add_option("--name", options->name,
                               "Name of the model, and of a speech package's files"));
  with_env(
      command->add_option("--language", options->language, "Speech model: en (default) or ja"));
  with_env(command->add_option("--tokenizer", options->tokenizer,
                               "Directory with tokenizer.json, if it is another one"));
  with_env(command->add_option("--source-repo", options->source_repo,
                               "Where the checkpoint came from, to be recorded"));
  with_env(command->add_option("--source-revision", options->source_revision,
                               "Its revision, to be recorded"));
  with_env(command
               ->add_option("--default", options->defaults,
                            "The model's own default for a request option, as "
                            "TASK.OPTION=VALUE; repeatable")
               ->allow_extra_args(false));
  with_env(command->add_flag("--lean", options->lean,
                             "Speech model: leave out tensors that nothing reads"));
  with_env(command->add_flag("--overwrite", options->overwrite, "Replace files that exist"));
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill convert LFM2-1.2B LFM2-1.2B-BF16.gguf\n"
      "  rill convert LFM2.5-Audio-1.5B audio-package --type F16");
  command->callback([options, &exit_code] { exit_code = convert(*options); });
}

}  // namespace rill::cli
