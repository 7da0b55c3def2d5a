// SPDX-License-Identifier: Apache-2.0
// The command line: parses, runs one command, and turns every outcome into an exit code
// (docs/errors.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>

#include "commands.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "runtime.h"

namespace rill::cli {
namespace {

int print_version() {
  Runtime runtime;
  const int exit_code = open_engine(EngineOptions{}, runtime);
  if (exit_code != kExitOk) return exit_code;
  const int threads = rill_engine_threads(runtime.engine.get());
  return write_stdout(std::string("rill ") + rill_version() + " (" +
                      rill_engine_isa(runtime.engine.get()) + ", " + std::to_string(threads) +
                      (threads == 1 ? " thread" : " threads") + ")\n");
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error,
                       const std::string& first_argument) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty() && !first_argument.empty() && first_argument[0] != '-') {
    return report_usage("unknown command " + first_argument);
  }
  const std::string command = commands.empty() ? "" : commands.front()->get_name();
  return report_usage((command.empty() ? "" : command + ": ") + error.what(), command);
}

int run_command_line(std::vector<std::string> arguments) {
  CLI::App app("rill: speech and text models of the LFM2 family on the CPU");
  app.name("rill");
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  bool version = false;
  app.add_flag("--version", version, "Print the version, the kernel tier and the threads");
  app.footer("rill COMMAND --help shows a command's flags and an example.");
  int exit_code = kExitOk;
  add_transcribe_command(app, exit_code);
  add_speak_command(app, exit_code);
  add_talk_command(app, exit_code);
  add_chat_command(app, exit_code);
  add_complete_command(app, exit_code);
  add_tokenize_command(app, exit_code);
  add_run_command(app, exit_code);
  add_models_command(app, exit_code);
  add_perplexity_command(app, exit_code);
  add_inspect_command(app, exit_code);
  add_verify_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_convert_command(app, exit_code);
  add_quantize_command(app, exit_code);
  add_demo_command(app, exit_code);

  const std::string first_argument = arguments.empty() ? "" : arguments.front();
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help
    return report_parse_error(app, error, first_argument);
  }
  if (version) return print_version();
  if (app.get_subcommands().empty()) return report_usage("a command is missing");
  return exit_code;
}

}  // namespace
}  // namespace rill::cli

int main(int argc, char** argv) {
  using namespace rill::cli;
  install_signal_handlers();
  try {
    return run_command_line(expand_short_flags({argv + 1, argv + std::max(argc, 1)}));
  } catch (const std::bad_alloc&) {
    return report(kExitResources, "out of memory");
  } catch (const std::exception& error) {
    return report(kExitFailed, error.what());
  }
}
