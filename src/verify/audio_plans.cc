// SPDX-License-Identifier: Apache-2.0
// Subjects of an audio set that are decided by rules alone: schedules, sampling, chunks of text and
// audio.
#include <algorithm>
#include <utility>

#include "audio/chunk_plan.h"
#include "base/parse_number.h"
#include "session/sampler.h"
#include "tasks/interleave_schedule.h"
#include "tasks/text_chunks.h"
#include "verify/audio_speech.h"
#include "verify/audio_support.h"

namespace rill::verify {

Result<int64_t> json_int(const Json& object, std::string_view key, std::string_view where) {
  const Json* value = object.find(key);
  if (value != nullptr && value->is_int()) return value->as_int();
  return Error{ErrorCode::kInvalidFormat,
               cat("read set: ", where, ": '", key, "' is missing or not an integer")};
}

Result<std::vector<audio::SampleRange>> json_ranges(const Json& entry, std::string_view key,
                                                    std::string_view where) {
  const Json* list = entry.find(key);
  if (list == nullptr || !list->is_array()) {
    return Error{ErrorCode::kInvalidFormat, cat("read set: ", where, ": '", key, "' is missing")};
  }
  std::vector<audio::SampleRange> out;
  for (const Json& item : list->items()) {
    if (!item.is_array() || item.items().size() != 2 || !item.items()[0].is_int() ||
        !item.items()[1].is_int()) {
      return Error{ErrorCode::kInvalidFormat,
                   cat("read set: ", where, ": '", key, "' holds no pair")};
    }
    out.push_back({item.items()[0].as_int(), item.items()[1].as_int()});
  }
  return out;
}

namespace {

Result<const Json::Array*> case_list(const Json& file, std::string_view where) {
  const Json* cases = file.is_array() ? &file : file.find("cases");
  if (cases != nullptr && cases->is_array()) return &cases->items();
  return Error{ErrorCode::kInvalidFormat, cat("read set: ", where, ": no list of cases")};
}

// Schedules.

/// Picks of a script, and what comes after its end.
struct Script {
  std::vector<int32_t> picks;
  int32_t after = 0;
  size_t next = 0;

  int32_t pick() { return next < picks.size() ? picks[next++] : after; }
};

struct ScheduleCase {
  Script text;
  Script audio;
  size_t max_steps = 0;
  model::lfm2_audio::Interleave blocks;
};

Result<ScheduleCase> read_schedule(const Json& entry) {
  ScheduleCase out;
  RILL_ASSIGN_OR_RETURN(out.text.picks, json_ids(entry, "text_picks", "vectors/schedules.json"));
  RILL_ASSIGN_OR_RETURN(out.audio.picks,
                        json_ids(entry, "audio_first_code_picks", "vectors/schedules.json"));
  RILL_ASSIGN_OR_RETURN(const int64_t steps,
                        json_int(entry, "max_steps", "vectors/schedules.json"));
  RILL_ASSIGN_OR_RETURN(const int64_t num_text,
                        json_int(entry, "text_steps", "vectors/schedules.json"));
  RILL_ASSIGN_OR_RETURN(const int64_t num_audio,
                        json_int(entry, "audio_steps", "vectors/schedules.json"));
  const Json* after = entry.find("after_script");
  if (after == nullptr)
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/schedules.json: no 'after_script'"};
  RILL_ASSIGN_OR_RETURN(const int64_t text, json_int(*after, "text", "vectors/schedules.json"));
  RILL_ASSIGN_OR_RETURN(const int64_t audio, json_int(*after, "audio", "vectors/schedules.json"));
  out.text.after = static_cast<int32_t>(text);
  out.audio.after = static_cast<int32_t>(audio);
  out.max_steps = static_cast<size_t>(steps);
  out.blocks = {static_cast<size_t>(num_text), static_cast<size_t>(num_audio)};
  return out;
}

/// The pattern of a spoken reply: T a text token, A a frame, E the end frame.
std::string interleaved_pattern(ScheduleCase c, const Model& model, int32_t end_code) {
  tasks::InterleaveSchedule schedule(c.blocks);
  std::string pattern;
  while (pattern.size() < c.max_steps) {
    schedule.begin_step();
    if (schedule.is_text()) {
      const int32_t token = c.text.pick();
      if (token == model.special_ids().im_end) break;
      pattern += 'T';
      schedule.after_text(token == model.special_ids().text_end);
    } else {
      const bool ends = c.audio.pick() == end_code;
      pattern += ends ? 'E' : 'A';
      schedule.after_frame(ends);
    }
  }
  return pattern;
}

/// Speech synthesis: text until the audio starts, then frames; this engine stops at the end frame.
std::string sequential_pattern(ScheduleCase c, const Model& model, int32_t end_code) {
  std::string pattern;
  bool is_text = true;
  while (pattern.size() < c.max_steps) {
    if (is_text) {
      pattern += 'T';
      is_text = c.text.pick() != model.special_ids().audio_start;
    } else if (c.audio.pick() == end_code) {
      return pattern + 'E';
    } else {
      pattern += 'A';
    }
  }
  return pattern;
}

Status compare_schedules(Run& run, const Model& model, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json file, read_json(vectors_path(run, "schedules", "json")));
  RILL_ASSIGN_OR_RETURN(const Json::Array* cases, case_list(file, "vectors/schedules.json"));
  const auto end_code = static_cast<int32_t>(model.speech()->depthformer().config().end_code());
  for (const Json& entry : *cases) {
    RILL_ASSIGN_OR_RETURN(const std::string name,
                          json_string(entry, "name", "vectors/schedules.json"));
    RILL_ASSIGN_OR_RETURN(const std::string mode,
                          json_string(entry, "mode", "vectors/schedules.json"));
    RILL_ASSIGN_OR_RETURN(std::string want,
                          json_string(entry, "pattern", "vectors/schedules.json"));
    RILL_ASSIGN_OR_RETURN(ScheduleCase scripted, read_schedule(entry));
    const bool sequential = mode == "sequential";
    if (sequential) want = want.substr(0, want.find('E') + 1);
    const std::string got = sequential ? sequential_pattern(std::move(scripted), model, end_code)
                                       : interleaved_pattern(std::move(scripted), model, end_code);
    report.mismatches(name, got == want ? 0 : 1,
                      got == want ? "" : cat("got ", got, ", expected ", want));
  }
  return {};
}

// Sampling.

Status compare_sampling(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json file, read_json(vectors_path(run, "sampling", "json")));
  const auto floats = [](const Json& list) {
    std::vector<float> out;
    for (const Json& item : list.items())
      out.push_back(item.is_number() ? static_cast<float>(item.as_double()) : 0.0f);
    return out;
  };
  const Json* logits = file.find("logits");
  const Json* probabilities = file.find("probabilities");
  if (logits == nullptr || !logits->is_array() || probabilities == nullptr ||
      !probabilities->is_object()) {
    return Error{ErrorCode::kInvalidFormat,
                 "read set: vectors/sampling.json: no logits or no probabilities"};
  }
  const std::vector<float> input = floats(*logits);
  for (const auto& [key, want] : probabilities->members()) {  // "T0.8_k3"
    const size_t split = key.find("_k");
    const auto temperature = split == std::string::npos
                                 ? std::nullopt
                                 : parse_double(std::string_view(key).substr(1, split - 1));
    const auto top_k = split == std::string::npos
                           ? std::nullopt
                           : parse_uint(std::string_view(key).substr(split + 2));
    if (!temperature || !top_k || !want.is_array()) {
      report.failed(key, "the name gives no temperature and top-k");
      continue;
    }
    session::SamplerOptions options;
    options.temperature = static_cast<float>(*temperature);
    options.top_k = static_cast<size_t>(*top_k);
    session::Sampler sampler(options);
    std::vector<float> got(input.size());
    sampler.probabilities(input, got);
    report.floats(key, got, floats(want), run.tolerances.hidden);
  }
  return {};
}

// Chunks.

Status compare_text_chunks(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json file, read_json(vectors_path(run, "text_chunks", "json")));
  RILL_ASSIGN_OR_RETURN(const Json::Array* cases, case_list(file, "vectors/text_chunks.json"));
  for (const Json& entry : *cases) {
    RILL_ASSIGN_OR_RETURN(const std::string name,
                          json_string(entry, "name", "vectors/text_chunks.json"));
    RILL_ASSIGN_OR_RETURN(const std::string mode_name,
                          json_string(entry, "mode", "vectors/text_chunks.json"));
    RILL_ASSIGN_OR_RETURN(const std::string text,
                          json_string(entry, "text", "vectors/text_chunks.json"));
    RILL_ASSIGN_OR_RETURN(const int64_t budget,
                          json_int(entry, "budget", "vectors/text_chunks.json"));
    const Json* chunks = entry.find("chunks");
    const auto mode = tasks::text_chunk_mode_by_name(mode_name);
    if (!mode || chunks == nullptr || !chunks->is_array() || budget < 1) {
      report.failed(name, "the case has no known mode, or no chunks");
      continue;
    }
    RILL_ASSIGN_OR_RETURN(const auto got,
                          tasks::split_text(text, *mode, static_cast<size_t>(budget)));
    const bool equal = std::equal(
        got.begin(), got.end(), chunks->items().begin(), chunks->items().end(),
        [](const std::string& a, const Json& b) { return b.is_string() && a == b.as_string(); });
    report.mismatches(name, equal ? 0 : 1);
  }
  return {};
}

Status compare_vad_chunks(Run& run, Report& report) {
  constexpr std::string_view kWhere = "vectors/vad_chunks.json";
  RILL_ASSIGN_OR_RETURN(const Json file, read_json(vectors_path(run, "vad_chunks", "json")));
  RILL_ASSIGN_OR_RETURN(const Json::Array* cases, case_list(file, kWhere));
  for (const Json& entry : *cases) {
    RILL_ASSIGN_OR_RETURN(const std::string name, json_string(entry, "name", kWhere));
    RILL_ASSIGN_OR_RETURN(const int64_t samples, json_int(entry, "samples", kWhere));
    RILL_ASSIGN_OR_RETURN(const auto segments, json_ranges(entry, "segments", kWhere));
    RILL_ASSIGN_OR_RETURN(const auto want, json_ranges(entry, "chunks", kWhere));
    audio::SpeechChunkOptions options;
    RILL_ASSIGN_OR_RETURN(options.max_chunk, json_int(entry, "max_chunk", kWhere));
    RILL_ASSIGN_OR_RETURN(options.merge_gap, json_int(entry, "merge_gap", kWhere));
    RILL_ASSIGN_OR_RETURN(options.padding, json_int(entry, "padding", kWhere));
    report.mismatches(name, audio::plan_speech_chunks(segments, samples, options) == want ? 0 : 1);
  }
  return {};
}

}  // namespace

void verify_schedules(Run& run, const std::string&, Report& report) {
  bool done = false;  // the rules are the same for every package
  report_failure(for_each_package(
                     run, report,
                     [&](const std::string&, const Model& model) -> Status {
                       if (std::exchange(done, true)) return {};
                       return compare_schedules(run, model, report);
                     },
                     model::lfm2_audio::Use::kSpeak),
                 report);
}

void verify_sampling(Run& run, const std::string&, Report& report) {
  report_failure(compare_sampling(run, report), report);
}

void verify_text_chunks(Run& run, const std::string&, Report& report) {
  report_failure(compare_text_chunks(run, report), report);
}

void verify_vad_chunks(Run& run, const std::string&, Report& report) {
  report_failure(compare_vad_chunks(run, report), report);
}

}  // namespace rill::verify
