// SPDX-License-Identifier: Apache-2.0
// Subjects of a text set that run a model.
#pragma once

#include <string>

#include "verify/verify.h"

namespace rill::verify {

/// "dense_a.f32": a case of manifest.json in one variant.
void verify_checkpoint(Run& run, const std::string& name, Report& report);

/// "gguf.dense_a-mixed": a file of gguf/manifest.json.
void verify_gguf(Run& run, const std::string& name, Report& report);
[[nodiscard]] std::string gguf_subject_name(const std::string& file);

}  // namespace rill::verify
