// SPDX-License-Identifier: Apache-2.0
// How much memory a model takes, from its metadata and tensor table alone.
#pragma once

#include "base/json.h"
#include "format/gguf.h"

namespace rill::inspect {

/// Bytes for weights, for the state of a sequence at some lengths, and for activations, of an LFM2
/// layer stack; other files get their weights alone.
[[nodiscard]] Json memory_plan(const format::GgufFile& file);

}  // namespace rill::inspect
