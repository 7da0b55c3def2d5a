// SPDX-License-Identifier: Apache-2.0
// Subject encoder of an audio set.
#include <algorithm>

#include "verify/audio_support.h"
#include "verify/capture.h"

namespace rill::verify {
namespace {

/// Recorded rows are positions and columns channels; the set stores convolutions [channels, time,
/// freq].
std::vector<float> in_stored_order(const Capture::Stage& stage, std::string_view name) {
  if (!name.starts_with("conv.")) return stage.values;
  std::vector<float> out(stage.values.size());
  for (size_t r = 0; r < stage.rows; ++r) {
    for (size_t c = 0; c < stage.cols; ++c)
      out[c * stage.rows + r] = stage.values[r * stage.cols + c];
  }
  return out;
}

/// The clips of a vectors file: what stands before the first dot of its names.
std::vector<std::string> clips_of(const ExpectedTensors& vectors) {
  std::vector<std::string> clips;
  for (const NamedTensor& tensor : vectors.all()) {
    const std::string clip = tensor.name.substr(0, tensor.name.find('.'));
    if (std::find(clips.begin(), clips.end(), clip) == clips.end()) clips.push_back(clip);
  }
  return clips;
}

Status compare_encoder(Run& run, const std::string& label, const Model& model,
                       const ExpectedTensors& vectors, Report& report) {
  for (const std::string& clip : clips_of(vectors)) {
    RILL_ASSIGN_OR_RETURN(const Tensor mel, features_of(run, clip));
    Capture capture;
    const Trace trace = capture.trace();
    RILL_RETURN_IF_ERROR(embed_clip(run, model, mel, &trace));
    for (const NamedTensor& tensor : vectors.all()) {
      if (!tensor.name.starts_with(clip + ".")) continue;
      const std::string stage_name = tensor.name.substr(clip.size() + 1);
      const Capture::Stage* stage = capture.find(stage_name);
      const std::string row = cat(label, " ", tensor.name);
      if (stage == nullptr) {
        report.failed(row, "this build computes no such stage");
        continue;
      }
      RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
      report.floats(row, in_stored_order(*stage, stage_name), want.values, run.tolerances.hidden);
    }
  }
  return {};
}

}  // namespace

void verify_encoder(Run& run, const std::string& name, Report& report) {
  const auto vectors = ExpectedTensors::open(vectors_path(run, name));
  if (!vectors) return report.failed("", vectors.error().message);
  report_failure(for_each_package(run, report,
                                  [&](const std::string& label, const Model& model) -> Status {
                                    return has_float_weights(model)
                                               ? compare_encoder(run, label, model, *vectors,
                                                                 report)
                                               : Status();
                                  }),
                 report);
}

}  // namespace rill::verify
