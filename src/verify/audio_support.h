// SPDX-License-Identifier: Apache-2.0
// What the subjects that run an audio package share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/str_cat.h"
#include "model/lfm2_audio/package.h"
#include "verify/audio_model.h"
#include "verify/set_files.h"
#include "verify/verify.h"

namespace rill::verify {

using model::lfm2_audio::Language;
using model::lfm2_audio::Model;

[[nodiscard]] inline std::string vectors_path(const Run& run, std::string_view name,
                                              std::string_view extension = "safetensors") {
  return cat(run.set_dir, "/vectors/", name, ".", extension);
}

/// A subject that cannot go on is a failed stage.
void report_failure(Status status, Report& report);

/// Runs `fn` on every package, with its label; a package that does not load is a failed stage.
template <typename Fn>
Status for_each_package(Run& run, Report& report, const Fn& fn,
                        model::lfm2_audio::Use use = model::lfm2_audio::Use::kListen) {
  RILL_ASSIGN_OR_RETURN(const auto packages, list_packages(run));
  for (const PackageRef& package : packages) {
    auto model = load_package(run, package, use);
    if (!model) {
      report.failed(package.label, std::move(model).error().message);
      continue;
    }
    RILL_RETURN_IF_ERROR(fn(package.label, **model));
  }
  return {};
}

/// The features [F, M] of a clip: the set's own where it has them, so that a stage is judged alone.
Result<Tensor> features_of(const Run& run, const std::string& clip);

/// Encoder and adapter: [F, M] -> [A, D].
Result<Tensor> embed_clip(Run& run, const Model& model, const Tensor& mel, const Trace* trace);

/// A transcription, fed with the expected tokens.
struct AsrOutcome {
  Tensor prefill_in;
  Tensor prefill_out;
  std::vector<float> step_logits;  ///< [steps, V], fed with the expected tokens
  std::vector<int32_t> tokens;     ///< what this engine picks at each of those steps
};

/// Prefill from the WAV, then one step for each expected token and one more, which must be the end
/// of the turn.
Result<AsrOutcome> run_asr(Run& run, const Model& model, const std::string& clip, Language language,
                           std::span<const int32_t> expected);

/// Expected ids without the end-of-turn token that the set's lists end with.
std::vector<int32_t> without_end(const Model& model, std::vector<int32_t> ids);

}  // namespace rill::verify
