// SPDX-License-Identifier: Apache-2.0
// The part of `rill demo` that speaks: sentences in each voice, and answers to spoken questions,
// both transcribed back.
#pragma once

#include <string>

#include "runtime.h"

namespace rill::cli {

/// Speaks, listens to itself and prints both. `assets` is the folder with expected.json. Returns 0,
/// or an exit code after printing why.
int demo_speech(Runtime& runtime, const std::string& assets);

}  // namespace rill::cli
