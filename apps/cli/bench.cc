// SPDX-License-Identifier: Apache-2.0
// rill bench: speed of a model on this machine, as a table or as JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "model_source.h"
#include "output.h"
#include "runtime.h"

namespace rill::cli {
namespace {

using nlohmann::json;

struct BenchOptions {
  EngineOptions engine;
  ModelOptions model;
  std::vector<size_t> prefill = {128, 512};
  std::vector<size_t> depths = {0};
  size_t decode = 32;
  size_t repeat = 5;
  double audio_seconds = 0;
  size_t frames = 0;
  size_t prompt_lookup = 0;
  std::string kv_type = "f16";
  std::string repack = "true";
  bool no_check = false;
  bool print_json = false;
};

std::string format_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.2f" : "%.1f", value);
  return text;
}

/// "prefill 512      123.4 tokens/s   120.0 to 125.1"
std::string measurement(const std::string& name, const json& entry, const std::string& key,
                        const std::string& unit) {
  char line[160];
  std::snprintf(line, sizeof line, "%-24s %10s %-10s %s to %s\n", name.c_str(),
                format_number(entry.at(key)).c_str(), unit.c_str(),
                format_number(entry.at(key + "_min")).c_str(),
                format_number(entry.at(key + "_max")).c_str());
  return line;
}

std::string format_table(const json& report) {
  std::string text;
  text += "model      " + report.at("model").get<std::string>() + "\n";
  text += "machine    " + report.at("cpu").get<std::string>() + ", tier " +
          report.at("isa").get<std::string>() + ", " +
          std::to_string(report.at("threads").get<int>()) + " threads, reads " +
          format_number(report.at("read_bandwidth_gb_per_s")) + " GB/s\n";
  text += "load       " + format_number(report.at("load_ms")) + " ms, weights " +
          format_number(report.at("weights_bytes").get<double>() / 1e6) + " MB, peak memory " +
          format_number(report.at("peak_rss_bytes").get<double>() / 1e6) + " MB\n";
  for (const json& entry : report.at("prefill")) {
    text += measurement("prefill " + std::to_string(entry.at("tokens").get<size_t>()), entry,
                        "prefill_tokens_per_s", "tokens/s");
  }
  for (const json& entry : report.value("decode", json::array())) {
    text += measurement("decode at depth " + std::to_string(entry.at("depth").get<size_t>()), entry,
                        "decode_tokens_per_s", "tokens/s");
    if (entry.contains("over_first_depth"))
      text += measurement("  over the first depth", entry, "over_first_depth", "");
  }
  if (report.contains("decode_read_share"))
    text += measurement("decode, of bandwidth", report, "decode_read_share", "");
  for (const json& entry : report.value("prompt_lookup", json::array())) {
    const std::string name = entry.at("text").get<std::string>() + " text";
    text += measurement(name, entry, "plain_tokens_per_s", "tokens/s");
    text += measurement(name + ", guessing", entry, "lookup_tokens_per_s", "tokens/s");
  }
  if (report.contains("encode")) {
    const json& entry = report.at("encode");
    text += measurement("encode " + format_number(entry.at("audio_seconds")) + " s", entry,
                        "encode_seconds", "s");
    text += measurement("features", entry, "features_seconds", "s");
  }
  if (report.contains("speech")) {
    const json& entry = report.at("speech");
    text += measurement("frame of speech", entry, "frame_ms", "ms");
    text += measurement("frame, of bandwidth", report, "speech_read_share", "");
    text += measurement("first audio of a text", entry, "first_audio_of_text_ms", "ms");
    text += measurement("first audio of an answer", entry, "first_audio_of_answer_ms", "ms");
  }
  return text;
}

int bench(const BenchOptions& options) {
  if (options.model.model.empty() && options.model.hf_repo.empty())
    return report_usage("--model is missing", "bench");
  Runtime runtime;
  ModelSource source;
  int exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk)
    exit_code =
        find_model(options.model.model, options.model.hf_repo, options.model.offline, source);
  if (exit_code != kExitOk) return exit_code;
  // A package as a whole only where it is asked for more than text.
  const bool needs_package = options.audio_seconds > 0 || options.frames > 0;
  const std::string path = needs_package ? source.path : main_file(source);
  rill_bench_options run = {};
  run.struct_size = sizeof run;
  run.model = path.c_str();
  run.prefill = options.prefill.data();
  run.num_prefill = options.prefill == std::vector<size_t>{0} ? 0 : options.prefill.size();
  run.depths = options.depths.data();
  run.num_depths = options.decode == 0 ? 0 : options.depths.size();
  run.decode = options.decode;
  run.repeat = options.repeat;
  run.audio_seconds = options.audio_seconds;
  run.frames = options.frames;
  run.prompt_lookup = options.prompt_lookup;
  run.kv_f32 = options.kv_type == "f32" ? 1 : 0;
  run.no_repack = options.repack == "false" ? 1 : 0;
  run.no_check = options.no_check ? 1 : 0;
  ErrorSlot error;
  StringHandle json_text;
  const rill_status status = rill_bench(runtime.engine.get(), &run, Out(json_text), error.out());
  if (status != RILL_OK) return report(status, error);
  const std::string text(rill_string_data(json_text.get()), rill_string_size(json_text.get()));
  return write_stdout(options.print_json ? text + "\n" : format_table(json::parse(text)));
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure speed");
  add_model_choice(
      *command, options->model,
      "A GGUF with a text model, a package directory, or a name of 'rill models list'");
  with_env(command->add_option("--prefill", options->prefill, "Prompt lengths; 0: none")
               ->delimiter(',')
               ->capture_default_str());
  with_env(command->add_option("--decode", options->decode, "Tokens to decode; 0: none")
               ->capture_default_str());
  with_env(command->add_option("--depth", options->depths, "Steps before the decoded ones")
               ->delimiter(',')
               ->capture_default_str());
  with_env(command
               ->add_option("--repeat", options->repeat,
                            "Runs of each measurement; the median is reported")
               ->capture_default_str());
  with_env(command
               ->add_option("--audio-seconds", options->audio_seconds,
                            "Audio for a package's encoder; 0: none")
               ->capture_default_str());
  with_env(
      command->add_option("--frames", options->frames, "Frames of speech of a package; 0: none")
          ->capture_default_str());
  with_env(command
               ->add_option("--prompt-lookup", options->prompt_lookup,
                            "Tokens guessed at once when prompt lookup is measured; 0: it is not")
               ->capture_default_str());
  with_env(command->add_option("--kv-type", options->kv_type, "Keys and values: f16 or f32")
               ->check(CLI::IsMember({"f16", "f32"}))
               ->capture_default_str());
  with_env(command->add_option("--repack", options->repack, "Pack weights for the kernels")
               ->check(CLI::IsMember({"true", "false"}))
               ->capture_default_str());
  with_env(command->add_flag("--no-check", options->no_check,
                             "Do not compare with the scalar tier first"));
  with_env(command->add_flag("--json", options->print_json, "Print a JSON object"));
  add_engine_options(*command, options->engine);
  command->footer(
      "Example:\n  rill bench -m LFM2-1.2B-Q4_0.gguf --prefill 256 --decode 64 --depth 0,4096");
  command->callback([options, &exit_code] { exit_code = bench(*options); });
}

}  // namespace rill::cli
