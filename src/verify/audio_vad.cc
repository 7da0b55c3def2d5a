// SPDX-License-Identifier: Apache-2.0
// The subject vectors/vad of an audio set: the speech detector, stage by stage, and the segments
// that follow from its probabilities.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "audio/vad_segments.h"
#include "tasks/audio_input.h"
#include "verify/audio_speech.h"
#include "verify/audio_support.h"

namespace rill::verify {
namespace {

using model::silero_vad::SileroVad;
using model::silero_vad::SileroVadStream;

// The worst difference that a probability may have: the logits' tolerance through a sigmoid.
constexpr double kProbabilityTolerance = 5e-6;

/// What the network makes of a clip: the rows of each stage, over all blocks.
struct Heard {
  std::map<std::string, std::vector<float>, std::less<>> stages;
  std::vector<float> probabilities;
};

Result<Heard> listen(Run& run, const std::string& clip) {
  const auto input = tasks::AudioInput::from_path(cat(run.set_dir, "/wav/", clip, ".wav"));
  RILL_ASSIGN_OR_RETURN(const auto samples, input.read_mono_16k());
  Heard heard;
  const Trace trace = {[](void* user, std::string_view name, ConstMat value) {
                         auto& out = static_cast<Heard*>(user)->stages[std::string(name)];
                         for (size_t r = 0; r < value.rows; ++r)
                           out.insert(out.end(), value.row(r), value.row(r) + value.cols);
                       },
                       &heard};
  SileroVadStream stream(*run.vad);
  RILL_RETURN_IF_ERROR(stream.push(run.context, samples, heard.probabilities, &trace));
  RILL_RETURN_IF_ERROR(stream.finish(run.context, heard.probabilities, &trace));
  return heard;
}

/// The number in "block60.conv1", and what follows the dot.
bool split_stage(std::string_view name, size_t& block, std::string_view& stage) {
  constexpr std::string_view kPrefix = "block";
  const size_t dot = name.find('.');
  if (name.substr(0, kPrefix.size()) != kPrefix || dot == std::string_view::npos) return false;
  const char* end = name.data() + dot;
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, block);
  stage = name.substr(dot + 1);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

/// The stages of single blocks, which the set has as [channels, frames].
Status compare_stages(Run& run, const ExpectedTensors& vectors, const std::string& clip,
                      const Heard& heard, Report& report) {
  for (const NamedTensor& tensor : vectors.all()) {
    if (!tensor.name.starts_with(clip + ".")) continue;
    size_t block = 0;
    std::string_view stage;
    if (!split_stage(std::string_view(tensor.name).substr(clip.size() + 1), block, stage)) continue;
    const auto rows = heard.stages.find(stage);
    if (rows == heard.stages.end()) continue;  // what the trace has no name for
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
    const size_t channels = want.shape.dim(0);
    const size_t frames = want.values.size() / channels;
    std::vector<float> got;
    for (size_t c = 0; c < channels; ++c) {
      for (size_t f = 0; f < frames; ++f) {
        const size_t at = (block * frames + f) * channels + c;
        if (at < rows->second.size()) got.push_back(rows->second[at]);
      }
    }
    report.floats(tensor.name, got, want.values, run.tolerances.hidden);
  }
  return {};
}

Status compare_network(Run& run, const ExpectedTensors& vectors, const std::string& clip,
                       const ExpectedTensor& want, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Heard heard, listen(run, clip));
  double worst = heard.probabilities.size() == want.values.size() ? 0.0 : HUGE_VAL;
  for (size_t i = 0; i < std::min(heard.probabilities.size(), want.values.size()); ++i) {
    const double difference = std::fabs(static_cast<double>(heard.probabilities[i]) -
                                        static_cast<double>(want.values[i]));
    worst = std::max(worst, difference);
  }
  report.measured(clip + ".probability", worst, kProbabilityTolerance, "absolute");
  return compare_stages(run, vectors, clip, heard, report);
}

Status compare_vad(Run& run, Report& report) {
  constexpr std::string_view kWhere = "vectors/vad.json";
  RILL_ASSIGN_OR_RETURN(const auto vectors, ExpectedTensors::open(vectors_path(run, "vad")));
  RILL_ASSIGN_OR_RETURN(const Json clips, read_json(vectors_path(run, "vad", "json")));
  if (!clips.is_object())
    return Error{ErrorCode::kInvalidFormat, cat("read set: ", kWhere, ": not an object")};
  for (const auto& [clip, entry] : clips.members()) {
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor probability, vectors.floats(clip + ".probability"));
    RILL_ASSIGN_OR_RETURN(const int64_t samples, json_int(entry, "samples", kWhere));
    RILL_ASSIGN_OR_RETURN(const auto want, json_ranges(entry, "segments", kWhere));
    report.mismatches(clip + ".segments",
                      audio::find_speech(probability.values, samples) == want ? 0 : 1,
                      "from the set's probabilities");
    if (run.vad != nullptr)
      RILL_RETURN_IF_ERROR(compare_network(run, vectors, clip, probability, report));
  }
  if (run.vad == nullptr)
    report.not_built("network", "no detector's weights (tools/install_vad.sh, --vad-file)");
  return {};
}

}  // namespace

void verify_vad(Run& run, const std::string&, Report& report) {
  report_failure(compare_vad(run, report), report);
}

}  // namespace rill::verify
