// SPDX-License-Identifier: Apache-2.0
// rill verify: runs a conformance set (docs/conformance.md) and prints how far each stage is from
// its reference.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "commands.h"
#include "exit_codes.h"
#include "model_source.h"
#include "output.h"
#include "runtime.h"
#include "verify_table.h"

namespace rill::cli {
namespace {

struct VerifyOptions {
  EngineOptions engine;
  std::string set;
  std::string only;
  ModelOptions model;
  std::string vad_file;
  bool all_stages = false;
};

void collect_row(void* user, const rill_verify_row* row) {
  static_cast<std::vector<VerifyRow>*>(user)->emplace_back(*row);
}

bool may_highlight() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

int verify(const VerifyOptions& options) {
  Runtime runtime;
  int exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_vad(options.vad_file, runtime);
  if (exit_code != kExitOk) return exit_code;
  ModelSource source;
  exit_code = find_model(options.model.model, options.model.hf_repo, options.model.offline, source);
  if (exit_code != kExitOk) return exit_code;
  rill_verify_options verify_options = {};
  verify_options.struct_size = sizeof(verify_options);
  verify_options.set = options.set.c_str();
  verify_options.only = options.only.empty() ? nullptr : options.only.c_str();
  verify_options.model = source.path.empty() ? nullptr : source.path.c_str();
  verify_options.vad = runtime.vad.get();
  std::vector<VerifyRow> rows;
  size_t misses = 0;
  ErrorSlot error;
  const rill_status status =
      rill_verify(runtime.engine.get(), &verify_options, collect_row, &rows, &misses, error.out());
  if (status != RILL_OK) return report(status, error);
  const std::vector<VerifyRow> subjects = worst_per_subject(rows);
  const bool each_stage = options.all_stages || options.engine.verbosity > 0;
  exit_code = write_stdout(format_verify_table(each_stage ? rows : subjects, may_highlight()) +
                           format_verify_summary(subjects));
  if (exit_code != kExitOk) return exit_code;
  return misses == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_verify_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Check a model against a conformance set");
  with_env(
      command->add_option("--set", options->set, "Directory of the conformance set")->required());
  with_env(command->add_option("--only", options->only,
                               "Only these subjects, with commas between them"));
  add_model_choice(*command, options->model,
                   "Package, file or name of 'rill models list' to run instead of the set's own");
  with_env(
      command->add_flag("--all-stages", options->all_stages,
                        "A line for each stage, not only for the worst of each subject; also -v"));
  add_vad_option(*command, options->vad_file);
  add_engine_options(*command, options->engine);
  command->footer(
      "Exit code 1 if a stage misses its tolerance.\n"
      "Example:\n"
      "  rill verify --set conformance/audio --only frontend,encoder");
  command->callback([options, &exit_code] { exit_code = verify(*options); });
}

}  // namespace rill::cli
