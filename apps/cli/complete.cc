// SPDX-License-Identifier: Apache-2.0
// rill complete: what a model goes on with after a text.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "text_flags.h"

namespace rill::cli {
namespace {

struct CompleteOptions {
  TextFlags text;
  std::string prompt;
  std::string file;
  bool echo = false;
  bool print_json = false;
};

int read_prompt(const CompleteOptions& options, std::string& prompt) {
  if (!options.prompt.empty() && !options.file.empty())
    return report_usage("TEXT and --file: give one of them", "complete");
  if (!options.file.empty()) return read_input(options.file, prompt);
  if (options.prompt.empty() || options.prompt == "-") return read_input("-", prompt);
  prompt = options.prompt;
  return kExitOk;
}

int make_request(const CompleteOptions& options, const std::string& prompt,
                 RequestHandle& request) {
  std::vector<KeyValue> pairs;
  const int exit_code = collect_text_options(options.text, pairs);
  if (exit_code != kExitOk) return exit_code;
  if (options.echo) pairs.emplace_back("echo", "true");
  ErrorSlot error;
  rill_status status = rill_request_create(RILL_TASK_COMPLETE, Out(request), error.out());
  if (status == RILL_OK)
    status = rill_request_set_text(request.get(), prompt.data(), prompt.size(), error.out());
  return status == RILL_OK ? set_options(request.get(), pairs) : report(status, error);
}

int stream_reply(const CompleteOptions& options, Runtime& runtime, const rill_request* request) {
  const CancelOnSignal cancel(runtime.session.get());
  ErrorSlot error;
  ReplyStreamHandle stream;
  rill_status status =
      rill_reply_stream_start(runtime.session.get(), request, Out(stream), error.out());
  if (status != RILL_OK) return report(status, error);
  rill_reply_event event = {};
  char last = '\n';
  while (event.is_last == 0 && !stdout_closed()) {
    status = rill_reply_stream_next(stream.get(), &event, error.out());
    if (status == RILL_ERROR_CANCELLED && interrupt_exit_code() != 0) return interrupt_exit_code();
    if (status != RILL_OK) return report(status, error);
    if (options.print_json || event.choice > 0 || event.content_size == 0) continue;
    last = event.content[event.content_size - 1];
    const int exit_code = write_stdout({event.content, event.content_size});
    if (exit_code != kExitOk) return exit_code;
  }
  if (!options.print_json) {
    const int exit_code = last == '\n' ? kExitOk : write_stdout("\n");
    return exit_code != kExitOk ? exit_code : interrupt_exit_code();
  }
  ResultHandle result;
  StringHandle json;
  status = rill_reply_stream_finish(stream.get(), Out(result), error.out());
  if (status == RILL_OK) status = rill_result_json(result.get(), Out(json), error.out());
  if (status != RILL_OK) return report(status, error);
  const int exit_code = write_stdout(std::string(rill_string_data(json.get())) + "\n");
  return exit_code != kExitOk ? exit_code : interrupt_exit_code();
}

int complete(CompleteOptions& options) {
  std::string prompt;
  RequestHandle request;
  Runtime runtime;
  int exit_code = read_prompt(options, prompt);
  if (exit_code == kExitOk) exit_code = make_request(options, prompt, request);
  if (exit_code == kExitOk) exit_code = open_text_runtime(options.text, "complete", runtime);
  return exit_code == kExitOk ? stream_reply(options, runtime, request.get()) : exit_code;
}

}  // namespace

void add_complete_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompleteOptions>();
  CLI::App* command = app.add_subcommand("complete", "Raw completion of a text");
  command->add_option("TEXT", options->prompt, "The text; - or none reads standard input");
  with_env(command->add_option("-f,--file", options->file, "Read the text from a file"));
  with_env(command->add_flag("--echo", options->echo, "Print the text before its completion"));
  with_env(command->add_flag("--json", options->print_json,
                             "Print the answer in the form of OpenAI's API"));
  add_text_flags(*command, options->text);
  command->footer(
      "No chat template is applied.\n"
      "Example:\n"
      "  rill complete -m LFM2.5-350M-Q4_0.gguf \"Once upon a time\" -n 50");
  command->callback([options, &exit_code] { exit_code = complete(*options); });
}

}  // namespace rill::cli
