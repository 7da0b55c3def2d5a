// SPDX-License-Identifier: Apache-2.0
// Subjects of an audio set that run its packages: tokenizer, prompts, encoder, backbone,
// transcription.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/lfm2_audio/package.h"
#include "verify/verify.h"

namespace rill::verify {

/// vectors/encoder: every stage of encoder and adapter from the set's features.
void verify_encoder(Run& run, const std::string& name, Report& report);
/// vectors/prompts: token ids of the prompts.
void verify_prompts(Run& run, const std::string& name, Report& report);
/// vectors/backbone_layers: one transcription prompt, layer by layer.
void verify_backbone_layers(Run& run, const std::string& name, Report& report);
/// vectors/asr: from the WAV to the transcript.
void verify_asr(Run& run, const std::string& name, Report& report);
/// vectors/tokenizer_cases: text to ids and back.
void verify_tokenizer_cases(Run& run, const std::string& name, Report& report);
/// vectors/packages: what each package's stored types give.
void verify_packages(Run& run, const std::string& name, Report& report);

/// A package of the set: a backbone file and its companions.
struct PackageRef {
  std::string directory;
  std::string backbone;  ///< file name; "" chooses by the usual rules
  std::string label;     ///< "F16", "JP-F16", ...: prefix of stages
};

/// The packages to run: those under packages/, or the one that the caller names.
Result<std::vector<PackageRef>> list_packages(const Run& run);
Result<std::unique_ptr<model::lfm2_audio::Model>> load_package(
    Run& run, const PackageRef& package,
    model::lfm2_audio::Use use = model::lfm2_audio::Use::kListen);
/// True if the package's matrices are plain floats, so that the reference's float32 values hold.
[[nodiscard]] bool has_float_weights(const model::lfm2_audio::Model& model);

}  // namespace rill::verify
