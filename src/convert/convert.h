// SPDX-License-Identifier: Apache-2.0
// Checkpoint directories to GGUF: a Transformers text model to one file, a liquid-audio speech
// model to the four files of a package.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "convert/file_type.h"
#include "convert/output_file.h"
#include "convert/report.h"
#include "format/metadata.h"

namespace rill::convert {

struct ConvertOptions {
  std::string input;   ///< directory with config.json, weights and tokenizer
  std::string output;  ///< text: the file; speech: the directory of the package, made if need be
  std::optional<FileType> type;  ///< F32, F16 or BF16; unset: what the checkpoint's matrices are
  std::string name;       ///< general.name, and the base of a package's file names; "": the input's
  std::string language;   ///< general.languages of a speech model: en or ja; "": en
  std::string tokenizer;  ///< directory with the tokenizer's files; "": the input
  std::string source_repo;      ///< rill.source.repo; "": none
  std::string source_revision;  ///< rill.source.revision; "": none
  /// rill.generation.TASK.OPTION: "TASK.OPTION" and the value; a whole number becomes u32, another
  /// number f32, all else a string.
  std::vector<std::pair<std::string, std::string>> defaults;
  bool lean = false;       ///< speech: leave out tensors that no engine reads
  bool overwrite = false;  ///< replace files that exist
  Progress progress;
};

/// A default's value in the type that it gets in the file.
[[nodiscard]] format::MetadataValue default_value(const std::string& text);

/// Converts. Files appear when they are complete; a package's one after the other.
/// Errors: kInvalidArgument (options; an output that exists; values too large for the type),
///         kNotFound (a file, key or tensor), kInvalidFormat (a shape, a contradiction),
///         kUnsupported (another kind of model; a tensor or setting that this build does not know),
///         kIo, kOutOfMemory, kCancelled.
Result<Report> convert_checkpoint(const ConvertOptions& options, ThreadPool& pool);

}  // namespace rill::convert
