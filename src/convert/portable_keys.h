// SPDX-License-Identifier: Apache-2.0
// Adds the `rill.*` keys of docs/portable-format.md that follow from a file's other keys and from
// its tensors.
#pragma once

#include <span>

#include "base/result.h"
#include "convert/output_tensor.h"
#include "format/metadata.h"

namespace rill::convert {

/// Sets version, operators, bounds, layouts, alignment, quantization and hashes, replacing what an
/// earlier conversion said; source and generation keys are left alone.
/// Errors: kInvalidFormat, kNotFound: an architecture key or tokenizer key of a wrong type.
Status set_portable_keys(std::span<const OutputTensor> tensors, format::Metadata& metadata);

}  // namespace rill::convert
