// SPDX-License-Identifier: Apache-2.0
#include "verify/audio_frontend.h"

#include <algorithm>

#include "audio/log_mel.h"
#include "base/parse_number.h"
#include "base/str_cat.h"
#include "tasks/audio_input.h"
#include "verify/set_files.h"

namespace rill::verify {
namespace {

std::string vectors_path(const Run& run, std::string_view name) {
  return cat(run.set_dir, "/vectors/", name, ".safetensors");
}

/// [rows, cols] -> [cols, rows], row-major.
std::vector<float> transposed(ConstMat m) {
  std::vector<float> out(m.rows * m.cols);
  for (size_t r = 0; r < m.rows; ++r) {
    for (size_t c = 0; c < m.cols; ++c) out[c * m.rows + r] = m.row(r)[c];
  }
  return out;
}

/// Reported as a failed stage, so that one bad file does not hide the others.
void compare(Report& report, const std::string& stage, const Result<std::vector<float>>& got,
             const Result<ExpectedTensor>& want, double tolerance) {
  if (!got) return report.failed(stage, got.error().message);
  if (!want) return report.failed(stage, want.error().message);
  report.floats(stage, *got, want->values, tolerance);
}

/// Values that the float32 reference gives and that are documented as not to be matched.
bool is_informative(std::string_view name) {
  return name.find(".reference_") != std::string_view::npos;
}

Status compare_resampled(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors, ExpectedTensors::open(vectors_path(run, "resampled")));
  for (const NamedTensor& tensor : vectors.all()) {
    compare(report, tensor.name, read_clip(run, tensor.name), vectors.floats(tensor.name),
            run.tolerances.hidden);
  }
  return {};
}

Status compare_constants(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors,
                        ExpectedTensors::open(vectors_path(run, "frontend_constants")));
  for (const NamedTensor& tensor : vectors.all()) {
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
    audio::LogMelConfig config;
    if (tensor.name == "mel_filterbank") {
      config.n_mels = want.shape.rows();
      config.n_fft = (want.shape.cols() - 1) * 2;
      config.win_length = std::min(config.win_length, config.n_fft);
      RILL_ASSIGN_OR_RETURN(const auto front_end, audio::LogMel::create(config));
      std::vector<float> dense;
      for (size_t m = 0; m < front_end.filterbank().n_mels(); ++m) {
        const auto row = front_end.filterbank().dense_row(m);
        dense.insert(dense.end(), row.begin(), row.end());
      }
      report.floats(tensor.name, dense, want.values, run.tolerances.hidden);
    } else if (tensor.name.starts_with("hann_window_")) {
      config.win_length = want.values.size();
      RILL_ASSIGN_OR_RETURN(const auto front_end, audio::LogMel::create(config));
      report.floats(tensor.name, front_end.window(), want.values, run.tolerances.hidden);
    } else {
      report.failed(tensor.name, "this build has no such constant");
    }
  }
  return {};
}

/// The clip that frontend_stages is made from: the first word of the manifest's note, else the only
/// clip of that length.
Result<std::string> stages_clip(const Run& run, size_t num_samples) {
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(run.set_dir + "/vectors/manifest.json"));
  const Json* entry = manifest.find("frontend_stages");
  const Json* note = entry != nullptr ? entry->find("note") : nullptr;
  if (note != nullptr && note->is_string()) {
    const std::string clip = note->as_string().substr(0, note->as_string().find(' '));
    if (is_file(cat(run.set_dir, "/wav/", clip, ".wav"))) return clip;
  }
  RILL_ASSIGN_OR_RETURN(const auto files, list_directory(run.set_dir + "/wav"));
  for (const std::string& file : files) {
    if (!file.ends_with(".wav")) continue;
    const std::string clip = file.substr(0, file.size() - 4);
    const auto samples = read_clip(run, clip);
    if (samples && samples->size() == num_samples) return clip;
  }
  return Error{ErrorCode::kNotFound, "read set: frontend_stages: no WAV has that many samples"};
}

/// power_firstN and power_lastN: [bins, N] of the first or last frames.
void compare_power(const audio::LogMel& front_end, const std::vector<float>& emphasised,
                   const NamedTensor& tensor, const ExpectedTensor& want, double tolerance,
                   Report& report) {
  const auto& config = front_end.config();
  const size_t frames = audio::log_mel_frames(emphasised.size(), config);
  const size_t bins = want.shape.rank() == 2 ? want.shape.dim(0) : 0;
  const size_t count = want.shape.cols();
  if (bins != config.n_fft / 2 + 1 || count > frames)
    return report.failed(tensor.name, "another number of bins or frames");
  const size_t first = tensor.name.starts_with("power_last") ? frames - count : 0;
  std::vector<float> got(bins * count);
  audio::LogMel::Work work;
  std::vector<float> under_window(config.win_length);
  for (size_t f = 0; f < count; ++f) {
    // Frame k is centred on sample k * hop; outside the clip there are zeros.
    const auto begin = static_cast<int64_t>((first + f) * config.hop_length) -
                       static_cast<int64_t>(config.win_length / 2);
    for (size_t i = 0; i < under_window.size(); ++i) {
      const int64_t at = begin + static_cast<int64_t>(i);
      const bool inside = at >= 0 && at < static_cast<int64_t>(emphasised.size());
      under_window[i] = inside ? emphasised[static_cast<size_t>(at)] : 0.0f;
    }
    front_end.power_spectrum(under_window, work);
    for (size_t b = 0; b < bins; ++b) got[b * count + f] = static_cast<float>(work.power[b]);
  }
  report.floats(tensor.name, got, want.values, tolerance);
}

Status compare_stages(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors,
                        ExpectedTensors::open(vectors_path(run, "frontend_stages")));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor emphasised, vectors.floats("preemphasised"));
  RILL_ASSIGN_OR_RETURN(const std::string clip, stages_clip(run, emphasised.values.size()));
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  RILL_ASSIGN_OR_RETURN(const auto front_end, audio::LogMel::create());
  std::vector<float> got(samples.size());
  float previous = 0.0f;
  front_end.preemphasise(samples, previous, got);
  report.floats("preemphasised", got, emphasised.values, run.tolerances.hidden);
  for (const NamedTensor& tensor : vectors.all()) {
    if (tensor.name == "preemphasised") continue;
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
    if (tensor.name.starts_with("power_")) {
      compare_power(front_end, got, tensor, want, run.tolerances.log_mel, report);
    } else if (tensor.name == "log_mel") {
      audio::LogMelStream stream(front_end);
      stream.push(samples);
      stream.finish_frames();
      const size_t mels = front_end.config().n_mels;
      report.floats(tensor.name,
                    transposed({stream.rows().data(), stream.frames_ready(), mels, mels}),
                    want.values, run.tolerances.log_mel);
    } else {
      report.failed(tensor.name, "this build computes no such stage");
    }
  }
  return {};
}

Result<std::vector<float>> clip_features(const Run& run, const std::string& clip) {
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(samples));
  return transposed(mel.mat());
}

Status compare_features(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors, ExpectedTensors::open(vectors_path(run, "features")));
  for (const NamedTensor& tensor : vectors.all()) {
    if (is_informative(tensor.name)) continue;
    compare(report, tensor.name, clip_features(run, tensor.name), vectors.floats(tensor.name),
            run.tolerances.log_mel);
  }
  return {};
}

/// Counts named in an entry that differ from the ones of `num_samples` samples.
size_t count_differences(const Json& entry, size_t num_samples, std::string& note) {
  const auto& config = audio::LogMelConfig{};
  const size_t valid = num_samples / config.hop_length;
  const std::pair<const char*, size_t> counts[] = {
      {"samples_16k", num_samples},
      {"valid_frames", valid},
      {"mel_frames", audio::log_mel_frames(num_samples)},
      {"audio_tokens", audio::audio_steps(num_samples)},
  };
  size_t differences = 0;
  for (const auto& [key, got] : counts) {
    const Json* want = entry.find(key);
    if (want == nullptr || !want->is_int() || want->as_int() == static_cast<int64_t>(got)) continue;
    ++differences;
    note = cat(key, ": got ", got, ", expected ", want->as_int());
  }
  return differences;
}

Status compare_lengths(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json lengths, read_json(run.set_dir + "/vectors/lengths.json"));
  if (const Json* files = lengths.find("files"); files != nullptr && files->is_object()) {
    for (const auto& [clip, entry] : files->members()) {
      const auto samples = read_clip(run, clip);
      if (!samples) {
        report.failed(clip, samples.error().message);
        continue;
      }
      std::string note;
      const size_t differences = count_differences(entry, samples->size(), note);
      report.mismatches(clip, differences, note);
    }
  }
  if (const Json* table = lengths.find("frame_counts"); table != nullptr && table->is_array()) {
    size_t differences = 0;
    std::string note;
    for (const Json& entry : table->items()) {
      const Json* samples = entry.find("samples");
      if (samples == nullptr || !samples->is_int() || samples->as_int() < 0) continue;
      differences += count_differences(entry, static_cast<size_t>(samples->as_int()), note);
    }
    report.mismatches("frame_counts", differences, note);
  }
  return {};
}

void report_failure(Status status, Report& report) {
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace

Result<std::vector<float>> read_clip(const Run& run, const std::string& clip) {
  return tasks::AudioInput::from_path(cat(run.set_dir, "/wav/", clip, ".wav")).read_mono_16k();
}

void verify_resampled(Run& run, const std::string&, Report& report) {
  report_failure(compare_resampled(run, report), report);
}

void verify_frontend_constants(Run& run, const std::string&, Report& report) {
  report_failure(compare_constants(run, report), report);
}

void verify_frontend_stages(Run& run, const std::string&, Report& report) {
  report_failure(compare_stages(run, report), report);
}

void verify_features(Run& run, const std::string&, Report& report) {
  report_failure(compare_features(run, report), report);
}

void verify_lengths(Run& run, const std::string&, Report& report) {
  report_failure(compare_lengths(run, report), report);
}

}  // namespace rill::verify
