// SPDX-License-Identifier: Apache-2.0
// rill perplexity: how well a model predicts a text, and how far it is from another model.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "file_work.h"
#include "model_source.h"
#include "output.h"
#include "runtime.h"

namespace rill::cli {
namespace {

using nlohmann::json;

struct PerplexityOptions {
  EngineOptions engine;
  ModelOptions model;
  std::string file;
  std::string reference;
  std::string logits;
  std::string kv_type = "f32";
  size_t window = 512;
  size_t stride = 0;
  size_t max_windows = 0;
  bool ids = false;
  bool print_json = false;
};

int read_text(const std::string& path, std::string& text) {
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return kExitOk;
  }
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  if (file.is_open() && !file.bad()) return kExitOk;
  return report(kExitUnreadable, "perplexity: " + path + ": " + std::strerror(errno));
}

void add_line(const char* label, const json& value, const json* error, std::string& text) {
  char line[120];
  if (error != nullptr) {
    std::snprintf(line, sizeof line, "%-24s %.6g +- %.2g\n", label, value.get<double>(),
                  error->get<double>());
  } else {
    std::snprintf(line, sizeof line, "%-24s %.6g\n", label, value.get<double>());
  }
  text += line;
}

std::string format_table(const json& report) {
  std::string text;
  const auto add = [&](const char* label, const char* key, const char* error_key = nullptr) {
    if (report.contains(key))
      add_line(label, report.at(key), error_key == nullptr ? nullptr : &report.at(error_key), text);
  };
  add("tokens", "tokens");
  add("predictions scored", "scored");
  add("perplexity", "perplexity", "perplexity_error");
  add("mean NLL", "mean_nll");
  add("reference: perplexity", "reference_perplexity");
  add("reference: mean NLL", "reference_mean_nll");
  add("mean KL divergence", "mean_kl", "mean_kl_error");
  add("KL median", "kl_median");
  add("KL 99%", "kl_p99");
  add("KL largest", "kl_max");
  add("same most likely token", "top1_agreement", "top1_agreement_error");
  add("logit distance (RMS)", "mean_logit_rms");
  return text;
}

int measure(const PerplexityOptions& options, Runtime& runtime, const std::string& text,
            const ModelSource& model, const ModelSource& reference) {
  rill_perplexity_options run = {};
  run.struct_size = sizeof run;
  const std::string model_path = main_file(model);
  const std::string reference_path = main_file(reference);
  run.model = model_path.c_str();
  if (!reference_path.empty()) run.reference = reference_path.c_str();
  run.text = text.data();
  run.text_size = text.size();
  run.text_is_ids = options.ids ? 1 : 0;
  run.window = options.window;
  run.stride = options.stride;
  run.max_windows = options.max_windows;
  run.kv_f16 = options.kv_type == "f16" ? 1 : 0;
  if (!options.logits.empty()) run.logits_path = options.logits.c_str();
  ErrorSlot error;
  StringHandle json_text;
  int exit_code = kExitOk;
  {
    FileWork work("predicting");
    run.progress = FileWork::tell;
    run.progress_user = &work;
    const rill_status status =
        rill_perplexity(runtime.engine.get(), &run, Out(json_text), error.out());
    if (status != RILL_OK) exit_code = report(status, error);
    if (interrupt_exit_code() != 0) return interrupt_exit_code();
  }
  if (exit_code != kExitOk) return exit_code;
  const std::string out(rill_string_data(json_text.get()), rill_string_size(json_text.get()));
  return write_stdout(options.print_json ? out + "\n" : format_table(json::parse(out)));
}

int perplexity(const PerplexityOptions& options) {
  Runtime runtime;
  int exit_code = open_engine(options.engine, runtime);
  std::string text;
  ModelSource model;
  ModelSource reference;
  if (exit_code == kExitOk)
    exit_code =
        find_model(options.model.model, options.model.hf_repo, options.model.offline, model);
  if (exit_code == kExitOk) exit_code = find_model(options.reference, "", true, reference);
  if (exit_code == kExitOk && model.path.empty())
    exit_code = report_usage("perplexity: --model is required", "perplexity");
  if (exit_code == kExitOk) exit_code = read_text(options.file, text);
  return exit_code == kExitOk ? measure(options, runtime, text, model, reference) : exit_code;
}

}  // namespace

void add_perplexity_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PerplexityOptions>();
  CLI::App* command = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
  command->add_option("FILE", options->file, "Text file, or - for standard input")->required();
  add_model_choice(*command, options->model,
                   "GGUF, checkpoint directory, package, or a name of 'rill models list'");
  with_env(command->add_option("--kl", options->reference,
                               "Also compare with this model on the same text, as the reference"));
  with_env(command->add_option("-c,--ctx-size", options->window, "Tokens of a window")
               ->capture_default_str());
  with_env(command
               ->add_option("--stride", options->stride,
                            "Tokens between the beginnings of windows; 0: --ctx-size")
               ->capture_default_str());
  with_env(command->add_option("--max-windows", options->max_windows, "Windows at most; 0: all")
               ->capture_default_str());
  with_env(command->add_flag("--ids", options->ids, "FILE holds token ids instead of text"));
  with_env(command->add_option("--kv-type", options->kv_type, "Keys and values: f32 or f16")
               ->check(CLI::IsMember({"f16", "f32"}))
               ->capture_default_str());
  with_env(command->add_option("--logits", options->logits,
                               "Also write the scored logits here: F32, a row per prediction"));
  with_env(command->add_flag("--json", options->print_json, "Print a JSON object"));
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n"
      "  rill perplexity wiki.txt -m LFM2-350M-Q4_0.gguf --kl LFM2-350M-F16.gguf");
  command->callback([options, &exit_code] { exit_code = perplexity(*options); });
}

}  // namespace rill::cli
