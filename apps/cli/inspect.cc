// SPDX-License-Identifier: Apache-2.0
// rill inspect: what a model file, a package or this processor is.
#include <CLI/CLI.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "model_source.h"
#include "output.h"
#include "runtime.h"

namespace rill::cli {
namespace {

struct InspectOptions {
  EngineOptions engine;
  std::string path;
  std::string detail;
  std::string plan;
  bool json = false;
};

int inspect(const InspectOptions& options) {
  Runtime runtime;
  int exit_code = open_engine(options.engine, runtime);
  ModelSource source = {options.path, {}};  // "cpu" is no model
  if (exit_code == kExitOk && options.path != "cpu")
    exit_code = find_model(options.path, "", true, source);
  if (exit_code != kExitOk) return exit_code;
  const char* detail = nullptr;
  if (!options.detail.empty()) detail = options.detail.c_str();
  if (options.json) detail = "json";
  ErrorSlot error;
  StringHandle text;
  rill_engine* engine = runtime.engine.get();
  const rill_status status =
      options.plan.empty()
          ? rill_inspect(engine, source.path.c_str(), detail, Out(text), error.out())
          : rill_plan(engine, source.path.c_str(), options.plan.c_str(), options.json ? 1 : 0,
                      Out(text), error.out());
  if (status != RILL_OK) return report(status, error);
  return write_stdout(
      with_final_newline(std::string(rill_string_data(text.get()), rill_string_size(text.get()))));
}

}  // namespace

void add_inspect_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Describe a model file, a package or the processor");
  command
      ->add_option("PATH", options->path,
                   "GGUF file, package directory, a name of 'rill models list', or cpu")
      ->required();
  const std::vector<std::string> details = {"summary", "metadata", "tensors"};
  auto* detail =
      with_env(command
                   ->add_option("--detail", options->detail,
                                "Only this part (default: all): summary, metadata, tensors")
                   ->check(CLI::IsMember(details)));
  with_env(command->add_flag("--json", options->json, "Everything as JSON"))->excludes(detail);
  with_env(command->add_option("--plan", options->plan,
                               "Memory and work for ctx=N[,batch=M][,kv=f16|f32] instead"))
      ->excludes(detail);
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill inspect LFM2.5-Audio-1.5B-Q8_0.gguf --detail tensors\n"
      "  rill inspect LFM2-1.2B-Q4_0.gguf --plan ctx=32768,batch=4\n"
      "  rill inspect cpu");
  command->callback([options, &exit_code] { exit_code = inspect(*options); });
}

}  // namespace rill::cli
