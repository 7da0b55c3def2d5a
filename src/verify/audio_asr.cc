// SPDX-License-Identifier: Apache-2.0
// Subjects backbone_layers, asr and packages of an audio set.
#include <algorithm>
#include <optional>

#include "verify/audio_support.h"
#include "verify/capture.h"

namespace rill::verify {
namespace {

/// "layer.K.op" and "layer.K" of the set are the backbone's "layerK.operator_out" and
/// "layerK.after_ffn".
std::string backbone_stage(std::string_view name) {
  if (name == "out") return "final_norm";
  if (!name.starts_with("layer.")) return std::string(name);
  name.remove_prefix(6);
  const bool op = name.ends_with(".op");
  if (op) name.remove_suffix(3);
  return cat("layer", name, op ? ".operator_out" : ".after_ffn");
}

Status compare_backbone(Run& run, const std::string& label, const Model& model,
                        const ExpectedTensors& vectors, Report& report) {
  const auto& backbone = model.backbone();
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor in, vectors.floats("in"));
  const size_t rows = in.shape.rows();
  const size_t width = in.shape.cols();
  if (width != backbone.config().hidden_size) {
    report.failed(label, "the set's rows have another width than the model");
    return {};
  }
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), DType::kF32));
  RILL_ASSIGN_OR_RETURN(Tensor hidden, Tensor::create(rows, width));
  Capture capture;
  const Trace trace = capture.trace();
  RILL_RETURN_IF_ERROR(backbone.forward(run.context, {in.values.data(), rows, width, width}, state,
                                        hidden.mat(), &trace));
  trace("final_norm", hidden.mat());
  RILL_ASSIGN_OR_RETURN(Tensor logits, Tensor::create(1, backbone.config().vocab_size));
  RILL_RETURN_IF_ERROR(
      backbone.logits(run.context, hidden.mat().row_range(rows - 1, 1), logits.mat()));
  trace("logits_last", logits.mat());
  for (const NamedTensor& tensor : vectors.all()) {
    if (tensor.name == "in") continue;
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
    const Capture::Stage* stage = capture.find(backbone_stage(tensor.name));
    if (stage == nullptr) {
      report.failed(cat(label, " ", tensor.name), "this build computes no such stage");
    } else {
      report.floats(cat(label, " ", tensor.name), stage->values, want.values,
                    run.tolerances.hidden);
    }
  }
  return {};
}

Status compare_asr_clip(Run& run, const std::string& label, const Model& model,
                        const std::string& clip, const Json& entry, const ExpectedTensors& vectors,
                        Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto listed, json_ids(entry, "tokens", "vectors/asr.json"));
  const std::vector<int32_t> tokens = without_end(model, listed);
  const Json* language = entry.find("language");
  const bool japanese =
      language != nullptr && language->is_string() && language->as_string() == "ja";
  RILL_ASSIGN_OR_RETURN(
      const AsrOutcome got,
      run_asr(run, model, clip, japanese ? Language::kJapanese : Language::kEnglish, tokens));
  const std::string stage = cat(label, " ", clip);
  if (vectors.has(clip + ".prefill_in")) {
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(clip + ".prefill_in"));
    report.floats(stage + ".prefill_in", got.prefill_in.mat(), want.values, run.tolerances.hidden);
  }
  if (vectors.has(clip + ".prefill_out")) {
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(clip + ".prefill_out"));
    report.floats(stage + ".prefill_out", got.prefill_out.mat(), want.values,
                  run.tolerances.hidden);
  }
  if (!vectors.has(clip + ".step_logits"))
    return {};  // not speech: only its prefill is meant for comparison
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(clip + ".step_logits"));
  const size_t count = std::min(want.values.size(), got.step_logits.size());
  report.floats(stage + ".step_logits", std::span(got.step_logits).first(count), want.values,
                run.tolerances.hidden);
  std::vector<int32_t> expected = tokens;
  expected.push_back(model.special_ids().im_end);
  report.ids(stage + ".tokens", got.tokens, expected);
  if (const Json* text = entry.find("text"); text != nullptr && text->is_string()) {
    const bool equal =
        model.tokenizer().decode(tokens, true, text::OpenCharacter::kDrop) == text->as_string();
    report.mismatches(stage + ".text", equal ? 0 : 1);
  }
  return {};
}

Status compare_asr(Run& run, const std::string& label, const Model& model, const Json& asr,
                   const ExpectedTensors& vectors, Report& report) {
  if (!asr.is_object())
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/asr.json: not an object"};
  for (const auto& [clip, entry] : asr.members()) {
    RILL_RETURN_IF_ERROR(compare_asr_clip(run, label, model, clip, entry, vectors, report));
  }
  return {};
}

/// The clip whose transcription prompt the package's prefill vectors belong to: the one with as
/// many steps.
Result<std::optional<AsrOutcome>> find_prefill(Run& run, const Model& model, const Json& asr,
                                               size_t rows) {
  for (const auto& [clip, entry] : asr.members()) {
    RILL_ASSIGN_OR_RETURN(const auto listed, json_ids(entry, "tokens", "vectors/packages.json"));
    const auto tokens = without_end(model, listed);
    RILL_ASSIGN_OR_RETURN(AsrOutcome outcome, run_asr(run, model, clip, model.language(), tokens));
    if (outcome.prefill_in.rows() == rows) return std::optional<AsrOutcome>(std::move(outcome));
  }
  return std::optional<AsrOutcome>();
}

double package_tolerance(const Run& run, const Model& model, const std::string& label) {
  if (has_float_weights(model)) return run.tolerances.hidden;
  return label.ends_with("Q8_0") ? run.tolerances.q8_0 : run.tolerances.q4;
}

Status compare_package(Run& run, const std::string& label, const Model& model, const Json& packages,
                       const ExpectedTensors& vectors, Report& report) {
  const Json* entry = packages.find(label);
  const Json* asr = entry != nullptr ? entry->find("asr") : nullptr;
  if (asr == nullptr || !asr->is_object()) return {};
  for (const auto& [clip, facts] : asr->members()) {
    RILL_ASSIGN_OR_RETURN(const auto listed, json_ids(facts, "tokens", "vectors/packages.json"));
    auto expected = without_end(model, listed);
    RILL_ASSIGN_OR_RETURN(const AsrOutcome got,
                          run_asr(run, model, clip, model.language(), expected));
    expected.push_back(model.special_ids().im_end);
    report.ids(cat(label, " asr.", clip), got.tokens, expected);
  }
  const std::string in_name = label + ".asr_prefill_in";
  if (!vectors.has(in_name)) return {};
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want_in, vectors.floats(in_name));
  RILL_ASSIGN_OR_RETURN(const auto outcome, find_prefill(run, model, *asr, want_in.shape.rows()));
  if (!outcome) {
    report.failed(in_name, "no clip has a prompt of that length");
    return {};
  }
  report.floats(in_name, outcome->prefill_in.mat(), want_in.values,
                package_tolerance(run, model, label));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want_logits,
                        vectors.floats(label + ".asr_prefill_logits_last"));
  const size_t count = std::min(outcome->step_logits.size(), want_logits.values.size());
  report.floats(label + ".asr_prefill_logits_last", std::span(outcome->step_logits).first(count),
                want_logits.values, package_tolerance(run, model, label));
  return {};
}

}  // namespace

void verify_backbone_layers(Run& run, const std::string& name, Report& report) {
  const auto vectors = ExpectedTensors::open(vectors_path(run, name));
  if (!vectors) return report.failed("", vectors.error().message);
  report_failure(for_each_package(run, report,
                                  [&](const std::string& label, const Model& model) -> Status {
                                    return has_float_weights(model)
                                               ? compare_backbone(run, label, model, *vectors,
                                                                  report)
                                               : Status();
                                  }),
                 report);
}

void verify_asr(Run& run, const std::string& name, Report& report) {
  const auto vectors = ExpectedTensors::open(vectors_path(run, name));
  if (!vectors) return report.failed("", vectors.error().message);
  const auto asr = read_json(vectors_path(run, name, "json"));
  if (!asr) return report.failed("", asr.error().message);
  report_failure(for_each_package(run, report,
                                  [&](const std::string& label, const Model& model) -> Status {
                                    return has_float_weights(model)
                                               ? compare_asr(run, label, model, *asr, *vectors,
                                                             report)
                                               : Status();
                                  }),
                 report);
}

void verify_packages(Run& run, const std::string& name, Report& report) {
  const auto vectors = ExpectedTensors::open(vectors_path(run, name));
  if (!vectors) return report.failed("", vectors.error().message);
  const auto packages = read_json(vectors_path(run, name, "json"));
  if (!packages) return report.failed("", packages.error().message);
  report_failure(for_each_package(run, report,
                                  [&](const std::string& label, const Model& model) {
                                    return compare_package(run, label, model, *packages, *vectors,
                                                           report);
                                  }),
                 report);
}

}  // namespace rill::verify
