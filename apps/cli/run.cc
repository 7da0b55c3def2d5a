// SPDX-License-Identifier: Apache-2.0
// rill run: the documented audio.cpp command line; results as key=value lines on stdout.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "commands.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "recognizer.h"
#include "request_sequence.h"
#include "run_options.h"

namespace rill::cli {
namespace {

/// Ids become parts of file names, so only harmless characters stay.
std::string safe_id(const std::string& id) {
  std::string safe = id;
  for (char& c : safe) {
    const bool harmless = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!harmless) c = '_';
  }
  return safe.empty() ? "request" : safe;
}

/// "text.txt" and "a" give "text_a.txt".
std::string path_with_id(const std::string& path, const std::string& id) {
  const std::filesystem::path whole(path);
  return (whole.parent_path() / (whole.stem().string() + "_" + id + whole.extension().string()))
      .string();
}

int write_text_result(const rill_result* result, const std::string& text_out) {
  size_t size = 0;
  const char* data = rill_result_text(result, &size);
  const std::string text(data, size);
  int exit_code = write_stdout("text_output=" + text + "\n");
  if (exit_code == kExitOk && !text_out.empty()) exit_code = write_file(text_out, text + "\n");
  if (exit_code == kExitOk && !text_out.empty())
    exit_code = write_stdout("text_out=" + text_out + "\n");
  return exit_code;
}

int run_one(Runtime& runtime, rill_request* request, const std::string& audio,
            const std::string& text_out) {
  ResultHandle result;
  const int exit_code = recognize_file(runtime, request, audio, result);
  if (result == nullptr) return exit_code;
  const int write_code = write_text_result(result.get(), text_out);
  return exit_code != kExitOk ? exit_code : write_code;
}

int run_sequence(const RunOptions& options, Runtime& runtime,
                 const std::vector<SequenceRequest>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string id = safe_id(items[i].id);
    std::vector<KeyValue> pairs = collect_run_request_options(options);
    pairs.insert(pairs.end(), items[i].options.begin(), items[i].options.end());
    RequestHandle request;
    int exit_code = make_asr_request(pairs, request);
    if (exit_code == kExitOk) {
      exit_code = write_stdout("request_index=" + std::to_string(i) + "\nrequest_id=" + id + "\n");
    }
    if (exit_code == kExitOk) {
      const std::string text_out =
          options.text_out.empty() ? "" : path_with_id(options.text_out, id);
      exit_code = run_one(runtime, request.get(), items[i].audio, text_out);
    }
    // A sequence is a script: what follows a failed request may depend on it.
    if (exit_code != kExitOk) return exit_code;
  }
  return kExitOk;
}

int run(RunOptions& options) {
  int exit_code = check_run_options(options);
  if (exit_code != kExitOk) return exit_code;
  if (options.log && options.engine.verbosity == 0) options.engine.verbosity = 1;
  std::vector<SequenceRequest> sequence;
  RequestHandle request;
  exit_code = options.request_sequence.empty()
                  ? make_asr_request(collect_run_request_options(options), request)
                  : read_request_sequence(options.request_sequence, sequence);
  if (exit_code != kExitOk) return exit_code;

  Runtime runtime;
  exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  if (exit_code == kExitOk) {
    exit_code = write_stdout("family=" + options.family + "\ntask=" + options.task +
                             "\nmode=" + options.mode + "\n");
  }
  if (exit_code != kExitOk) return exit_code;
  return sequence.empty() ? run_one(runtime, request.get(), options.audio, options.text_out)
                          : run_sequence(options, runtime, sequence);
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a task with audio.cpp's flags");
  add_run_options(*command, *options);
  add_model_options(*command, options->model);
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill run --task asr --family lfm2_audio --model LFM2.5-Audio-1.5B-GGUF --backend cpu "
      "--audio talk.wav");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace rill::cli
