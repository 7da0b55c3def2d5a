// SPDX-License-Identifier: Apache-2.0
// Checks that speech synthesis and spoken chat share.
#pragma once

#include <string>

#include "base/result.h"
#include "model/lfm2_audio/package.h"

namespace rill::tasks {

/// Errors: kUnsupported if the package was loaded without what speaks.
Status check_can_speak(const model::lfm2_audio::Model& model);

/// "", "auto" and the checkpoint's own language pass. Errors: kInvalidArgument.
Status check_speech_language(const model::lfm2_audio::Model& model, const std::string& language);

}  // namespace rill::tasks
