// SPDX-License-Identifier: Apache-2.0
// Subject detokenizer of an audio set.
#include "model/detokenizer/detokenizer.h"
#include "verify/audio_speech.h"
#include "verify/audio_support.h"
#include "verify/capture.h"

namespace rill::verify {
namespace {

using model::lfm2_audio::Use;

/// "layer.K" of the set is the stack's "layerK.after_ffn".
std::string stack_stage(const std::string& name) {
  return name.starts_with("layer.") ? cat("layer", name.substr(6), ".after_ffn") : name;
}

/// Frame by frame; the samples after each one, and the rest.
struct Streamed {
  std::vector<float> pcm;
  std::vector<int32_t> counts;
};

Result<Streamed> stream_frames(Run& run, const Model& model, std::span<const int32_t> codes) {
  RILL_ASSIGN_OR_RETURN(auto stream,
                        model::detokenizer::Stream::create(model.speech()->detokenizer()));
  const size_t num_codebooks = model.speech()->detokenizer().codes().num_codebooks;
  Streamed out;
  for (size_t at = 0; at + num_codebooks <= codes.size(); at += num_codebooks) {
    const size_t before = out.pcm.size();
    RILL_RETURN_IF_ERROR(stream.push(run.context, codes.subspan(at, num_codebooks), out.pcm));
    out.counts.push_back(static_cast<int32_t>(out.pcm.size() - before));
  }
  const size_t before = out.pcm.size();
  stream.finish(out.pcm);
  out.counts.push_back(static_cast<int32_t>(out.pcm.size() - before));
  return out;
}

Status compare_stages(Run& run, const std::string& label, const Model& model,
                      const ExpectedTensors& vectors, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto codes, vectors.ints("codes"));
  RILL_ASSIGN_OR_RETURN(auto stream,
                        model::detokenizer::Stream::create(model.speech()->detokenizer()));
  Capture capture;
  const Trace trace = capture.trace();
  std::vector<float> pcm;
  RILL_RETURN_IF_ERROR(stream.push(run.context, codes, pcm, &trace));
  stream.finish(pcm);
  for (const NamedTensor& tensor : vectors.all()) {
    // Inputs, the constant window, and the long run have no stage.
    if (tensor.name.ends_with("codes") || tensor.name == "istft_window" ||
        tensor.name.ends_with("waveform"))
      continue;
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
    const Capture::Stage* stage = capture.find(stack_stage(tensor.name));
    const std::string row = cat(label, " ", tensor.name);
    if (stage == nullptr) {
      report.failed(row, "this build computes no such stage");
    } else {
      report.floats(row, stage->values, want.values, run.tolerances.hidden);
    }
  }
  return {};
}

Status compare_waveform(Run& run, const std::string& label, const Model& model,
                        const ExpectedTensors& vectors, const std::string& prefix,
                        const Json& facts, Report& report) {
  if (!vectors.has(prefix + "waveform")) return {};
  RILL_ASSIGN_OR_RETURN(const auto codes, vectors.ints(prefix + "codes"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(prefix + "waveform"));
  RILL_ASSIGN_OR_RETURN(const Streamed streamed, stream_frames(run, model, codes));
  report.floats(cat(label, " ", prefix, "waveform"), streamed.pcm, want.values,
                run.tolerances.waveform);
  RILL_ASSIGN_OR_RETURN(auto whole_stream,
                        model::detokenizer::Stream::create(model.speech()->detokenizer()));
  std::vector<float> whole;
  RILL_RETURN_IF_ERROR(whole_stream.push(run.context, codes, whole));
  whole_stream.finish(whole);
  report.mismatches(cat(label, " ", prefix, "streamed_equals_whole"),
                    whole == streamed.pcm ? 0 : 1);
  if (prefix.empty() && facts.find("samples_after_each_frame") != nullptr) {
    RILL_ASSIGN_OR_RETURN(auto counts,
                          json_ids(facts, "samples_after_each_frame", "vectors/detokenizer.json"));
    const Json* rest = facts.find("samples_on_finish");
    if (rest != nullptr && rest->is_int()) counts.push_back(static_cast<int32_t>(rest->as_int()));
    report.ids(cat(label, " samples_after_each_frame"), streamed.counts, counts);
  }
  return {};
}

}  // namespace

void verify_detokenizer(Run& run, const std::string& name, Report& report) {
  const auto vectors = ExpectedTensors::open(vectors_path(run, name));
  if (!vectors) return report.failed("", vectors.error().message);
  const auto facts = read_json(vectors_path(run, name, "json"));
  if (!facts) return report.failed("", facts.error().message);
  report_failure(
      for_each_package(
          run, report,
          [&](const std::string& label, const Model& model) -> Status {
            if (!has_float_weights(model)) return {};
            RILL_RETURN_IF_ERROR(compare_stages(run, label, model, *vectors, report));
            RILL_RETURN_IF_ERROR(compare_waveform(run, label, model, *vectors, "", *facts, report));
            return compare_waveform(run, label, model, *vectors, "long_", *facts, report);
          },
          Use::kSpeak),
      report);
}

}  // namespace rill::verify
