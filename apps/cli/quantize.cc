// SPDX-License-Identifier: Apache-2.0
// rill quantize: a GGUF file, or the files of a package, with other types.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "file_work.h"
#include "runtime.h"

namespace rill::cli {
namespace {

struct QuantizeOptions {
  EngineOptions engine;
  std::string input;
  std::string output;
  std::string type;
  bool allow_requantize = false;
  bool overwrite = false;
};

int quantize(const QuantizeOptions& options) {
  Runtime runtime;
  const int exit_code = open_engine(options.engine, runtime);
  if (exit_code != kExitOk) return exit_code;
  FileWork work("quantizing");
  rill_quantize_options run = {};
  run.struct_size = sizeof run;
  run.input = options.input.c_str();
  run.output = options.output.c_str();
  run.type = options.type.c_str();
  run.allow_requantize = options.allow_requantize ? 1 : 0;
  run.overwrite = options.overwrite ? 1 : 0;
  run.progress = FileWork::tell;
  run.progress_user = &work;
  ErrorSlot error;
  StringHandle text;
  const rill_status status = rill_quantize(runtime.engine.get(), &run, Out(text), error.out());
  return work.finish(status, text, error);
}

}  // namespace

void add_quantize_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App* command =
      app.add_subcommand("quantize", "Write a GGUF file with other types, smaller ones mostly");
  command->add_option("INPUT", options->input, "GGUF file, or directory with a speech package")
      ->required();
  command->add_option("OUTPUT", options->output, "GGUF file; for a package a directory")
      ->required();
  with_env(command
               ->add_option("--type", options->type,
                            "F32, F16, BF16, Q8_0, Q6_K, Q5_K_M, Q4_K_M or Q4_0")
               ->required());
  with_env(command->add_flag("--allow-requantize", options->allow_requantize,
                             "Also from tensors that are quantized already, which loses twice"));
  with_env(command->add_flag("--overwrite", options->overwrite, "Replace files that exist"));
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill quantize LFM2-1.2B-BF16.gguf LFM2-1.2B-Q4_K_M.gguf --type Q4_K_M");
  command->callback([options, &exit_code] { exit_code = quantize(*options); });
}

}  // namespace rill::cli
