// SPDX-License-Identifier: Apache-2.0
// Describes model files and the processor: what `rill inspect` prints. Loads no weights.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "kernels/kernel_table.h"

namespace rill::inspect {

/// What to show besides the summary.
struct InspectOptions {
  bool metadata = true;
  bool tensors = true;
  bool json = false;  ///< one JSON object instead of text
};

/// A GGUF file, or a directory with a package: format, sizes, operators, memory plan, metadata,
/// tensors. Errors: those of GgufFile::open; kNotFound (a directory without GGUF files).
Result<std::string> inspect_path(const std::string& path, const InspectOptions& options);

/// The processor: its tiers, the chosen one, and which tier serves each kernel.
[[nodiscard]] std::string inspect_cpu(const kernels::KernelTable& kernels, size_t num_threads,
                                      const InspectOptions& options);

}  // namespace rill::inspect
