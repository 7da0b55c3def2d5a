// SPDX-License-Identifier: Apache-2.0
#include "convert/output_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/str_cat.h"
#include "quant/quantize.h"

namespace rill::convert {
namespace {

// Values that one task of the pool converts: some cache-sized pieces for each thread, and few
// enough tasks that their bookkeeping does not matter.
constexpr size_t kTaskValues = size_t{1} << 16;

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

/// What became of one task's rows.
struct TaskResult {
  Rounding rounding;
  bool finite = true;
};

/// Converts rows of one part.
struct PartConverter {
  const std::byte* source;
  DType from;
  DType to;
  size_t cols;
  std::byte* out;

  TaskResult convert(size_t first_row, size_t num_rows) const {
    TaskResult result;
    std::vector<float> row(cols);
    std::vector<float> written(cols);
    for (size_t r = first_row; r < first_row + num_rows; ++r) {
      std::byte* target = out + r * row_bytes(to, cols);
      quant::dequantize_row(from, source + r * row_bytes(from, cols), row);
      quant::quantize_row(to, row, target);
      quant::dequantize_row(to, target, written);
      result.finite = result.finite && all_finite(row) && all_finite(written);
      for (size_t i = 0; i < cols; ++i) {
        const double error = double{written[i]} - double{row[i]};
        result.rounding.squared_error += error * error;
        result.rounding.squared_sum += double{row[i]} * double{row[i]};
      }
    }
    return result;
  }
};

/// Runs the converter over all rows. The sums are added in the order of the rows, so that the
/// report does not depend on the threads. False if a value is not finite.
bool convert_rows(const PartConverter& converter, size_t num_rows, ThreadPool& pool,
                  Rounding& rounding) {
  const size_t task_rows = std::max<size_t>(1, kTaskValues / converter.cols);
  std::vector<TaskResult> results((num_rows + task_rows - 1) / task_rows);
  pool.parallel_for(results.size(), [&](size_t task) {
    const size_t first = task * task_rows;
    results[task] = converter.convert(first, std::min(task_rows, num_rows - first));
  });
  bool finite = true;
  for (const TaskResult& result : results) {
    finite = finite && result.finite;
    rounding.squared_error += result.rounding.squared_error;
    rounding.squared_sum += result.rounding.squared_sum;
  }
  return finite;
}

Error not_finite(const OutputTensor& tensor) {
  return Error{ErrorCode::kInvalidArgument,
               cat("convert: ", printable(tensor.name),
                   ": got a value that is not finite, or too large for ", dtype_name(tensor.dtype),
                   ", expected values that it can hold")};
}

}  // namespace

std::string OutputTensor::source_type() const {
  return parts.empty() ? "computed" : std::string(dtype_name(parts.front().dtype));
}

uint64_t OutputTensor::source_bytes() const {
  uint64_t bytes = values.size() * sizeof(float);
  for (const TensorView& part : parts) bytes += part.size_bytes();
  return bytes;
}

double Rounding::relative_rms() const {
  return squared_error == 0 ? 0.0 : std::sqrt(squared_error / squared_sum);
}

Status produce(const OutputTensor& tensor, ThreadPool& pool, AlignedBuffer& out,
               Rounding& rounding) {
  const size_t cols = tensor.shape.cols();
  RILL_ASSIGN_OR_RETURN(out,
                        AlignedBuffer::create(tensor.shape.rows() * row_bytes(tensor.dtype, cols)));
  std::vector<TensorView> parts = tensor.parts;
  if (parts.empty()) {
    parts.push_back({reinterpret_cast<const std::byte*>(tensor.values.data()), DType::kF32,
                     Shape{tensor.values.size()}});
  }
  std::byte* target = out.data();
  for (const TensorView& part : parts) {
    const size_t rows = part.shape.num_elements() / cols;
    const size_t size_bytes = rows * row_bytes(tensor.dtype, cols);
    RILL_CHECK(target + size_bytes <= out.data() + out.size_bytes(), "parts exceed the tensor");
    if (part.dtype == tensor.dtype) {
      std::memcpy(target, part.data, size_bytes);
    } else if (!convert_rows({part.data, part.dtype, tensor.dtype, cols, target}, rows, pool,
                             rounding)) {
      return not_finite(tensor);
    }
    target += size_bytes;
  }
  RILL_CHECK(target == out.data() + out.size_bytes(), "parts do not fill the tensor");
  return {};
}

}  // namespace rill::convert
