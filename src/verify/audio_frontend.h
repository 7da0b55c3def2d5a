// SPDX-License-Identifier: Apache-2.0
// Subjects of an audio set that need no model: from WAV files to normalised features.
#pragma once

#include <string>

#include "base/result.h"
#include "verify/verify.h"

namespace rill::verify {

/// vectors/resampled: mono 16 kHz samples of every WAV.
void verify_resampled(Run& run, const std::string& name, Report& report);
/// vectors/frontend_constants: mel filterbank and window.
void verify_frontend_constants(Run& run, const std::string& name, Report& report);
/// vectors/frontend_stages: pre-emphasis, power spectra and log-mel of one WAV.
void verify_frontend_stages(Run& run, const std::string& name, Report& report);
/// vectors/features: normalised log-mel of every WAV.
void verify_features(Run& run, const std::string& name, Report& report);
/// vectors/lengths: sample, frame and step counts.
void verify_lengths(Run& run, const std::string& name, Report& report);

/// The mono 16 kHz samples of a WAV of the set.
Result<std::vector<float>> read_clip(const Run& run, const std::string& clip);

}  // namespace rill::verify
