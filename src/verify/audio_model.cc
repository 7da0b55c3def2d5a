// SPDX-License-Identifier: Apache-2.0
#include "verify/audio_model.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "audio/log_mel.h"
#include "base/str_cat.h"
#include "model/conformer/config.h"
#include "ops/elementwise.h"
#include "session/sequence.h"
#include "tasks/asr.h"
#include "verify/audio_frontend.h"
#include "verify/capture.h"
#include "verify/set_files.h"

namespace rill::verify {
namespace {

using model::lfm2_audio::Language;
using model::lfm2_audio::Model;
using session::Sequence;
using session::StepInput;

std::string vectors_path(const Run& run, std::string_view name,
                         std::string_view extension = "safetensors") {
  return cat(run.set_dir, "/vectors/", name, ".", extension);
}

/// Runs `fn` on every package, with its label; a package that does not load is a failed stage.
template <typename Fn>
Status for_each_package(Run& run, Report& report, const Fn& fn) {
  RILL_ASSIGN_OR_RETURN(const auto packages, list_packages(run));
  for (const PackageRef& package : packages) {
    auto model = load_package(run, package);
    if (!model) {
      report.failed(package.label, std::move(model).error().message);
      continue;
    }
    RILL_RETURN_IF_ERROR(fn(package.label, **model));
  }
  return {};
}

/// The features [F, M] of a clip: the set's own where it has them, so that a stage is judged alone.
Result<Tensor> features_of(const Run& run, const std::string& clip) {
  const std::string path = vectors_path(run, "features");
  if (is_file(path)) {
    RILL_ASSIGN_OR_RETURN(const auto vectors, ExpectedTensors::open(path));
    if (vectors.has(clip)) {
      RILL_ASSIGN_OR_RETURN(const ExpectedTensor stored, vectors.floats(clip));
      const size_t mels = stored.shape.rows();
      const size_t frames = stored.shape.cols();
      RILL_ASSIGN_OR_RETURN(Tensor mel, Tensor::create(frames, mels));
      for (size_t f = 0; f < frames; ++f) {
        for (size_t m = 0; m < mels; ++m) mel.mat().row(f)[m] = stored.values[m * frames + f];
      }
      return mel;
    }
  }
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  return audio::log_mel(samples);
}

Result<Tensor> embed_clip(Run& run, const Model& model, const Tensor& mel, const Trace* trace) {
  RILL_ASSIGN_OR_RETURN(Tensor speech, Tensor::create(model::conformer::num_steps(mel.rows()),
                                                      model.backbone().config().hidden_size));
  RILL_RETURN_IF_ERROR(model.embed_speech(run.context, mel.mat(), speech.mat(), trace));
  return speech;
}

// ---- encoder
// --------------------------------------------------------------------------------------------------------

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

// ---- prompts
// --------------------------------------------------------------------------------------------------------

/// The languages of the clips, from asr.json.
Language language_of(const Json& asr, const std::string& clip) {
  const Json* entry = asr.find(clip);
  const Json* language = entry != nullptr ? entry->find("language") : nullptr;
  const bool japanese =
      language != nullptr && language->is_string() && language->as_string() == "ja";
  return japanese ? Language::kJapanese : Language::kEnglish;
}

Status compare_prompts(Run& run, const Model& model, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json prompts, read_json(vectors_path(run, "prompts", "json")));
  RILL_ASSIGN_OR_RETURN(const Json asr, read_json(vectors_path(run, "asr", "json")));
  if (!prompts.is_object())
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/prompts.json: not an object"};
  for (const auto& [name, entry] : prompts.members()) {
    if (!name.starts_with("asr_")) {
      report.not_built(name, "prompts that lead to speech are not in this build");
      continue;
    }
    RILL_ASSIGN_OR_RETURN(const auto want, json_ids(entry, "ids", "vectors/prompts.json"));
    const auto steps =
        static_cast<size_t>(std::count(want.begin(), want.end(), model::lfm2_audio::kAudioStep));
    RILL_ASSIGN_OR_RETURN(
        const auto got,
        model::lfm2_audio::asr_prompt(model.tokenizer(), language_of(asr, name.substr(4)), steps));
    report.ids(name, got, want);
  }
  return {};
}

// ---- backbone_layers and asr
// ----------------------------------------------------------------------------------------

/// Prompt rows [T, D]: token embeddings, and `speech` rows at the audio positions.
Result<Tensor> prompt_rows(const Model& model, std::span<const int32_t> ids, const Tensor& speech) {
  const size_t width = model.backbone().config().hidden_size;
  RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(ids.size(), width));
  size_t next_speech = 0;
  for (size_t t = 0; t < ids.size(); ++t) {
    float* row = rows.mat().row(t);
    if (ids[t] == model::lfm2_audio::kAudioStep) {
      std::memcpy(row, speech.mat().row(next_speech++), width * sizeof(float));
    } else {
      RILL_RETURN_IF_ERROR(model.backbone().embed(ids[t], {row, width}));
    }
  }
  return rows;
}

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

struct AsrOutcome {
  Tensor prefill_in;
  Tensor prefill_out;
  std::vector<float> step_logits;  ///< [steps, V], fed with the expected tokens
  std::vector<int32_t> tokens;     ///< what this engine picks at each of those steps
};

/// Prefill from the WAV, then one step for each expected token and one more, which must be the end
/// of the turn.
Result<AsrOutcome> run_asr(Run& run, const Model& model, const std::string& clip, Language language,
                           std::span<const int32_t> expected) {
  AsrOutcome out;
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(samples));
  RILL_ASSIGN_OR_RETURN(const Tensor speech, embed_clip(run, model, mel, nullptr));
  RILL_ASSIGN_OR_RETURN(const auto ids,
                        model::lfm2_audio::asr_prompt(model.tokenizer(), language, speech.rows()));
  RILL_ASSIGN_OR_RETURN(out.prefill_in, prompt_rows(model, ids, speech));
  const auto& backbone = model.backbone();
  RILL_ASSIGN_OR_RETURN(out.prefill_out, Tensor::create(ids.size(), backbone.config().hidden_size));
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), DType::kF32));
  RILL_RETURN_IF_ERROR(
      backbone.forward(run.context, out.prefill_in.mat(), state, out.prefill_out.mat()));

  RILL_ASSIGN_OR_RETURN(auto sequence, Sequence::create(backbone, DType::kF32));
  std::vector<StepInput> steps;
  for (size_t t = 0; t < ids.size(); ++t) {
    steps.push_back(StepInput::of_row({out.prefill_in.mat().row(t), out.prefill_in.cols()}));
  }
  RILL_RETURN_IF_ERROR(sequence.append(run.context, steps));
  for (size_t i = 0; i <= expected.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(run.context));
    out.step_logits.insert(out.step_logits.end(), logits.begin(), logits.end());
    out.tokens.push_back(static_cast<int32_t>(ops::argmax(logits)));
    if (i < expected.size()) RILL_RETURN_IF_ERROR(sequence.append_token(run.context, expected[i]));
  }
  return out;
}

/// Expected ids without the end-of-turn token that the set's lists end with.
std::vector<int32_t> without_end(const Model& model, std::vector<int32_t> ids) {
  if (!ids.empty() && ids.back() == model.special_ids().im_end) ids.pop_back();
  return ids;
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

Status compare_tokenizer_cases(Run& run, const std::string& label, const Model& model,
                               Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json cases, read_json(vectors_path(run, "tokenizer_cases", "json")));
  if (!cases.is_array())
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/tokenizer_cases.json: not an array"};
  size_t mismatches = 0;
  for (const Json& entry : cases.items()) {
    RILL_ASSIGN_OR_RETURN(const std::string text,
                          json_string(entry, "text", "tokenizer_cases.json"));
    RILL_ASSIGN_OR_RETURN(const std::string decoded,
                          json_string(entry, "decoded", "tokenizer_cases.json"));
    RILL_ASSIGN_OR_RETURN(const auto ids, json_ids(entry, "ids", "tokenizer_cases.json"));
    RILL_ASSIGN_OR_RETURN(const auto got, model.tokenizer().encode(text));
    if (got != ids || model.tokenizer().decode(ids, true, text::OpenCharacter::kDrop) != decoded)
      ++mismatches;
  }
  report.mismatches(label, mismatches, cat(cases.items().size(), " cases"));
  return {};
}

// ---- packages
// -------------------------------------------------------------------------------------------------------

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
  const double tolerance = package_tolerance(run, model, label);
  report.floats(in_name, outcome->prefill_in.mat(), want_in.values, tolerance);
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want_logits,
                        vectors.floats(label + ".asr_prefill_logits_last"));
  const size_t count = std::min(outcome->step_logits.size(), want_logits.values.size());
  report.floats(label + ".asr_prefill_logits_last", std::span(outcome->step_logits).first(count),
                want_logits.values, tolerance);
  return {};
}

void report_failure(Status status, Report& report) {
  if (!status) report.failed("", std::move(status).error().message);
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

void verify_prompts(Run& run, const std::string&, Report& report) {
  bool done = false;  // all packages of a set share one tokenizer
  report_failure(for_each_package(run, report,
                                  [&](const std::string&, const Model& model) -> Status {
                                    if (std::exchange(done, true)) return {};
                                    return compare_prompts(run, model, report);
                                  }),
                 report);
}

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

void verify_tokenizer_cases(Run& run, const std::string&, Report& report) {
  report_failure(for_each_package(run, report,
                                  [&](const std::string& label, const Model& model) {
                                    return compare_tokenizer_cases(run, label, model, report);
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
