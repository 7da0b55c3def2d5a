// SPDX-License-Identifier: Apache-2.0
// Report: what a conversion wrote, tensor by tensor, and why some tensors got another type than the
// rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/file_type.h"
#include "tensor/shape.h"

namespace rill::convert {

/// One written tensor.
struct TensorRow {
  std::string name;
  Shape shape;
  std::string from;        ///< type in the source; "computed" for folded values
  DType to = DType::kF32;  ///< type in the file
  std::string note;        ///< why it is not of the file's own type; "" if it is
  double rms_error = 0;    ///< of the rounding, relative to the values; 0 where they are exact
};

/// One written file.
struct FileReport {
  std::string path;
  FileType type = FileType::kF32;
  uint64_t source_bytes = 0;  ///< of the tensors as they were stored
  std::vector<TensorRow> rows;
};

struct Report {
  std::vector<FileReport> files;
  std::vector<std::string> notes;  ///< what the user should know, one line each
};

/// The report as text: a block per file with a line for each group of like tensors (the same name
/// in all layers, types and note).
[[nodiscard]] std::string to_text(const Report& report);

}  // namespace rill::convert
