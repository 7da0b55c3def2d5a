// SPDX-License-Identifier: Apache-2.0
// rill run: the documented audio.cpp command line; results as key=value lines on stdout.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include "commands.h"
#include "exit_codes.h"
#include "live_transcript.h"
#include "output.h"
#include "recognizer.h"
#include "request_sequence.h"
#include "run_options.h"
#include "run_speech.h"
#include "speech_request.h"

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

/// A request with what the C API takes when it runs, and where its results go.
struct Job {
  std::string id;  ///< "" for the request of the flags
  std::string audio;
  std::string out;
  std::string text_out;
  RequestHandle request;
};

int make_job(const RunOptions& options, const SequenceRequest& item, Job& job) {
  std::vector<KeyValue> pairs = collect_run_request_options(options);
  pairs.insert(pairs.end(), item.options.begin(), item.options.end());
  job.audio = item.audio;
  job.out = options.out;
  job.text_out = options.text_out;
  if (!item.id.empty()) {
    job.id = safe_id(item.id);
    if (!job.out.empty()) job.out = path_with_id(job.out, job.id);
    if (!job.text_out.empty()) job.text_out = path_with_id(job.text_out, job.id);
  }
  if (options.task == "asr") return make_asr_request(pairs, job.request);
  SequenceRequest whole = item;
  if (whole.text.empty()) whole.text = options.text;
  if (whole.voice.empty()) whole.voice = options.voice;
  const rill_task task = options.task == "tts" ? RILL_TASK_TTS : RILL_TASK_S2S;
  return make_run_speech_request(task, pairs, whole, job.request);
}

/// All requests at once, so that a mistake in the last one is found before the first one runs.
int make_jobs(const RunOptions& options, std::vector<Job>& jobs) {
  std::vector<SequenceRequest> items;
  if (options.request_sequence.empty()) {
    SequenceRequest item;
    item.audio = options.audio;
    items.push_back(item);
  } else {
    const int exit_code = read_request_sequence(options.request_sequence, options.task, items);
    if (exit_code != kExitOk) return exit_code;
  }
  std::set<std::string> ids;  // of which files are named
  for (const SequenceRequest& item : items) {
    const int exit_code = make_job(options, item, jobs.emplace_back());
    if (exit_code != kExitOk) return exit_code;
    if (!ids.insert(jobs.back().id).second) {
      return report(kExitUnreadable, "--request-sequence " + options.request_sequence +
                                         ": two requests have the id " + jobs.back().id);
    }
  }
  return kExitOk;
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

/// Prints the segments as they are final.
int run_live_asr(const RunOptions& options, Runtime& runtime, const Job& job,
                 ResultHandle& result) {
  const auto print = [](const rill_transcript_event& event) {
    std::array<char, 64> times{};
    std::snprintf(times.data(), times.size(), "segment=%.2f-%.2f ", event.segment.start_s,
                  event.segment.end_s);
    return write_stdout(times.data() + std::string(event.segment.text, event.segment.text_size) +
                        "\n");
  };
  const LiveSource source{job.audio, options.pcm, {}};
  return transcribe_live(runtime, job.request.get(), /*partial_seconds=*/0, source, print, result);
}

int run_asr(const RunOptions& options, Runtime& runtime, const Job& job, ResultHandle& result) {
  return options.mode == "streaming"
             ? run_live_asr(options, runtime, job, result)
             : recognize_file(runtime, job.request.get(), job.audio, result);
}

SpeechInput speech_input(const RunOptions& options, const Job& job) {
  return {options.mode == "streaming", job.audio, options.pcm};
}

int run_job(const RunOptions& options, Runtime& runtime, const Job& job) {
  ResultHandle result;
  const int exit_code = options.speaks() ? run_speech(runtime, job.request.get(),
                                                      speech_input(options, job), job.out, result)
                                         : run_asr(options, runtime, job, result);
  if (result == nullptr) return exit_code;
  int write_code = options.task == "tts" ? kExitOk : write_text_result(result.get(), job.text_out);
  if (write_code == kExitOk && !job.out.empty())
    write_code = write_stdout("audio_out=" + job.out + "\n");
  if (write_code == kExitOk) write_code = print_artifacts(result.get());
  return exit_code != kExitOk ? exit_code : write_code;
}

int list_loaders() {
  return write_stdout(
      "loader=lfm2_audio\ntasks=asr,tts,s2s\nmodes=offline,streaming\nbackends=cpu\n");
}

/// Metadata of the model's files, as rill inspect prints it.
int inspect_model(const RunOptions& options) {
  if (options.model.model.empty()) return report_usage("--inspect needs --model", "run");
  Runtime runtime;
  const int exit_code = open_engine(options.engine, runtime);
  if (exit_code != kExitOk) return exit_code;
  ErrorSlot error;
  StringHandle text;
  const rill_status status = rill_inspect(runtime.engine.get(), options.model.model.c_str(),
                                          "metadata", Out(text), error.out());
  if (status != RILL_OK) return report(status, error);
  return write_stdout({rill_string_data(text.get()), rill_string_size(text.get())});
}

int run(RunOptions& options) {
  if (options.list_loaders) return list_loaders();
  if (options.inspect) return inspect_model(options);
  int exit_code = check_run_options(options);
  if (exit_code != kExitOk) return exit_code;
  if (options.log && options.engine.verbosity == 0) options.engine.verbosity = 1;
  options.model.for_speech = options.speaks();
  std::vector<Job> jobs;
  Runtime runtime;
  exit_code = make_jobs(options, jobs);
  if (exit_code == kExitOk) exit_code = open_engine(options.engine, runtime);
  if (exit_code == kExitOk) exit_code = open_model(options.model, runtime);
  if (exit_code == kExitOk) {
    exit_code = write_stdout("family=" + options.family + "\ntask=" + options.task +
                             "\nmode=" + options.mode + "\n");
  }
  for (size_t i = 0; i < jobs.size() && exit_code == kExitOk; ++i) {
    if (!jobs[i].id.empty()) {
      exit_code =
          write_stdout("request_index=" + std::to_string(i) + "\nrequest_id=" + jobs[i].id + "\n");
    }
    // A sequence is a script: what follows a failed request may depend on it.
    if (exit_code == kExitOk) exit_code = run_job(options, runtime, jobs[i]);
  }
  return exit_code;
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
      "--audio talk.wav\n"
      "  rill run --task tts --text \"The cat is brown.\" --voice-id uk_male --out cat.wav\n"
      "  rill run --task s2s --mode streaming --audio question.wav --out reply.wav");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace rill::cli
