// SPDX-License-Identifier: Apache-2.0
// GGUF in, GGUF with other types out; metadata is kept.
#pragma once

#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "convert/file_type.h"
#include "convert/output_file.h"
#include "convert/report.h"

namespace rill::convert {

struct QuantizeOptions {
  std::string input;   ///< a GGUF file, or a directory with a speech package
  std::string output;  ///< the file; for a package the directory, made if need be
  FileType type = FileType::kQ8_0;
  bool allow_requantize = false;  ///< also from tensors that are quantized already
  bool overwrite = false;         ///< replace files that exist
  Progress progress;
};

/// Quantizes. The report says what each tensor became and why.
/// Errors: kInvalidArgument (an output that exists; a tensor that is quantized already; values that
///         are not finite), kNotFound, kIo, kInvalidFormat, kUnsupported (the input's),
///         kOutOfMemory, kCancelled.
Result<Report> quantize_model(const QuantizeOptions& options, ThreadPool& pool);

}  // namespace rill::convert
