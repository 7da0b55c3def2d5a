// SPDX-License-Identifier: Apache-2.0
// rill demo: transcribes the sample clips and shows each transcript beside the true words, then
// speaks and answers.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "demo_speech.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "recognizer.h"
#include "word_errors.h"

namespace rill::cli {
namespace {

struct DemoOptions {
  EngineOptions engine;
  ModelOptions model;
  std::string assets = "assets/demo";
};

struct Clip {
  std::string wav;
  std::string true_text;
  std::string heard;  ///< what the reference implementation makes of it
};

struct Totals {
  size_t clips = 0;
  size_t exact = 0;
  size_t as_reference = 0;
  WordErrors words;
  double audio_s = 0;
  double wall_s = 0;
};

int read_clips(const std::string& assets, std::vector<Clip>& clips) {
  const std::string path = assets + "/expected.json";
  std::ifstream file(path);
  if (!file)
    return report(kExitUnreadable,
                  path + ": cannot be opened; --assets names the folder assets/demo");
  const auto root = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("asr") || !root["asr"].is_array()) {
    return report(kExitUnreadable, path + ": expected an object with the array asr");
  }
  for (const auto& item : root["asr"]) {
    for (const char* key : {"wav", "text", "heard"}) {
      if (!item.is_object() || !item.contains(key) || !item[key].is_string()) {
        return report(kExitUnreadable, path + ": expected a string " + key + " in each clip");
      }
    }
    clips.push_back({item["wav"].get<std::string>(), item["text"].get<std::string>(),
                     item["heard"].get<std::string>()});
  }
  return kExitOk;
}

std::string format_line(const std::string& wav, const std::string& heard,
                        const std::string& true_text) {
  std::string line = wav;
  line.resize(std::max(line.size(), size_t{16}), ' ');
  line += heard;
  line.resize(std::max(line.size() + 2, size_t{66}), ' ');
  return line + true_text + "\n";
}

int transcribe_clip(Runtime& runtime, rill_request* request, const std::string& assets,
                    const Clip& clip, Totals& totals) {
  ResultHandle result;
  const int exit_code = recognize_file(runtime, request, assets + "/" + clip.wav, result);
  if (exit_code != kExitOk) return exit_code;
  const std::string heard = rill_result_text(result.get(), nullptr);
  rill_usage usage = {};
  usage.struct_size = sizeof(usage);
  ErrorSlot error;
  const rill_status status = rill_result_usage(result.get(), &usage, error.out());
  if (status != RILL_OK) return report(status, error);
  const WordErrors words = count_word_errors(clip.true_text, heard);
  totals.clips += 1;
  totals.exact += heard == clip.true_text ? 1 : 0;
  totals.as_reference += heard == clip.heard ? 1 : 0;
  totals.words.errors += words.errors;
  totals.words.num_words += words.num_words;
  totals.audio_s += usage.audio_s;
  totals.wall_s += usage.wall_s;
  return write_stdout(format_line(clip.wav, heard, clip.true_text));
}

std::string format_totals(const Totals& totals) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(),
                "\nWER %.2f%% (%zu of %zu words), %zu of %zu exact, %zu as the reference "
                "implementation hears them\n"
                "real-time factor %.3f (%.1f s of speech in %.2f s)\n",
                100.0 * static_cast<double>(totals.words.errors) /
                    static_cast<double>(totals.words.num_words),
                totals.words.errors, totals.words.num_words, totals.exact, totals.clips,
                totals.as_reference, totals.wall_s / totals.audio_s, totals.audio_s, totals.wall_s);
  return text.data();
}

int demo(DemoOptions& options) {
  options.model.for_speech = true;
  std::vector<Clip> clips;
  RequestHandle request;
  Runtime runtime;
  int exit_code = read_clips(options.assets, clips);
  if (exit_code == kExitOk) exit_code = make_asr_request({}, request);
  if (exit_code == kExitOk) exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  if (exit_code == kExitOk)
    exit_code = write_stdout(format_line("clip", "transcript", "true words"));
  Totals totals;
  for (const Clip& clip : clips) {
    if (exit_code != kExitOk) return exit_code;
    exit_code = transcribe_clip(runtime, request.get(), options.assets, clip, totals);
  }
  if (exit_code == kExitOk) exit_code = write_stdout(format_totals(totals));
  if (exit_code == kExitOk) exit_code = demo_speech(runtime, options.assets);
  if (exit_code != kExitOk) return exit_code;
  // The embedded model has one right answer for each clip; another model may hear something else.
  const bool as_expected = !options.model.model.empty() || totals.as_reference == totals.clips;
  return as_expected ? kExitOk : kExitFailed;
}

}  // namespace

void add_demo_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command =
      app.add_subcommand("demo", "Transcribe sample clips, speak, and answer questions");
  with_env(
      command->add_option("--assets", options->assets, "Folder with the clips and expected.json")
          ->capture_default_str());
  add_model_options(*command, options->model);
  add_engine_options(*command, options->engine);
  command->footer(
      "Exit code 1 if the embedded model hears another text than its reference implementation.\n"
      "Example:\n"
      "  rill demo");
  command->callback([options, &exit_code] { exit_code = demo(*options); });
}

}  // namespace rill::cli
