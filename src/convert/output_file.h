// SPDX-License-Identifier: Apache-2.0
// Writes a converted model file, one tensor at a time, under a temporary name until it is complete.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "convert/file_type.h"
#include "convert/output_tensor.h"
#include "convert/report.h"
#include "format/metadata.h"

namespace rill::convert {

/// Told the part done, 0 to 1, from time to time; returns false to stop.
struct Progress {
  bool (*tell)(void* user, double done) = nullptr;
  void* user = nullptr;
};

/// A whole file to write.
struct OutputFile {
  std::string path;
  FileType type = FileType::kF32;
  format::Metadata metadata;
  std::vector<OutputTensor> tensors;
};

/// Refuses a path where something lies already, unless it is to be replaced.
/// Errors: kInvalidArgument.
Status check_free(const std::string& path, bool overwrite);

/// Writes the files one after the other. Memory: the largest tensor, in its stored form.
/// Errors: kNotFound (no such folder), kIo, kOutOfMemory, kCancelled (as progress wishes), those of
///         produce() and set_portable_keys(). Files that were completed before stay.
Result<Report> write_files(std::span<OutputFile> files, ThreadPool& pool, const Progress& progress);

}  // namespace rill::convert
