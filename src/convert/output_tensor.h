// SPDX-License-Identifier: Apache-2.0
// OutputTensor: a tensor to be written, described by where its values come from. Its bytes are made
// only when its turn comes.
#pragma once

#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace rill::convert {

struct OutputTensor {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  /// Stored tensors whose values follow each other, row after row (stacked experts have many);
  /// types F32, F16, BF16 or quantized.
  std::vector<TensorView> parts;
  std::vector<float> values;  ///< computed values, where there are no parts
  std::string note;           ///< for the report: why it is not of the file's own type

  /// Type of the source, for the report.
  [[nodiscard]] std::string source_type() const;
  [[nodiscard]] uint64_t source_bytes() const;
};

/// How far the written values are from the source's.
struct Rounding {
  double squared_error = 0;
  double squared_sum = 0;
  [[nodiscard]] double relative_rms() const;
};

/// Makes the tensor's bytes in `out`. Values that keep their type are copied bit for bit.
/// Errors: kOutOfMemory; kInvalidArgument naming the tensor, if a value is not finite in the source
///         or too large for the type.
Status produce(const OutputTensor& tensor, ThreadPool& pool, AlignedBuffer& out,
               Rounding& rounding);

}  // namespace rill::convert
