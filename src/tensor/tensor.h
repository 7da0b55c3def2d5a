// SPDX-License-Identifier: Apache-2.0
// TensorView, TensorMap: stored tensors as files hold them. Mat, ConstMat: rows of float
// activations. Nothing here does arithmetic.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/aligned_buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace rill {

/// A non-owning view of a stored tensor; data may be unaligned. Lifetime: that of the file it came
/// from.
struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;

  [[nodiscard]] size_t size_bytes() const { return shape.rows() * row_bytes(dtype, shape.cols()); }
};

/// A tensor of a file, by name.
struct NamedTensor {
  std::string name;
  TensorView view;
  size_t file_offset = 0;  ///< of its first byte, for messages and for releasing pages
};

/// The tensors of a file or of several shards, in file order, with lookup by name.
class TensorMap {
 public:
  /// Adds a tensor; false if the name is taken.
  bool add(NamedTensor tensor);
  /// The tensor of that name, or nullptr.
  [[nodiscard]] const NamedTensor* find(std::string_view name) const;
  [[nodiscard]] const std::vector<NamedTensor>& all() const { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::unordered_map<std::string, size_t> index_;
};

/// Rows of F32 activations: element (r, c) is data[r * stride + c].
struct ConstMat {
  const float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;  ///< in elements; at least cols

  [[nodiscard]] const float* row(size_t r) const { return data + r * stride; }
  [[nodiscard]] ConstMat row_range(size_t begin, size_t count) const {
    return {data + begin * stride, count, cols, stride};
  }
  [[nodiscard]] ConstMat col_range(size_t begin, size_t count) const {
    return {data + begin, rows, count, stride};
  }
};

struct Mat {
  float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  operator ConstMat() const { return {data, rows, cols, stride}; }
  [[nodiscard]] float* row(size_t r) const { return data + r * stride; }
  [[nodiscard]] Mat row_range(size_t begin, size_t count) const {
    return {data + begin * stride, count, cols, stride};
  }
  [[nodiscard]] Mat col_range(size_t begin, size_t count) const {
    return {data + begin, rows, count, stride};
  }
};

/// An owned, contiguous [rows, cols] matrix of F32.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised. Errors: kOutOfMemory.
  static Result<Tensor> create(size_t rows, size_t cols);

  [[nodiscard]] Mat mat() { return {data(), rows_, cols_, cols_}; }
  [[nodiscard]] ConstMat mat() const { return {data(), rows_, cols_, cols_}; }
  [[nodiscard]] float* data() { return buffer_.as<float>().data(); }
  [[nodiscard]] const float* data() const { return buffer_.as<float>().data(); }
  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t cols() const { return cols_; }

 private:
  AlignedBuffer buffer_;
  size_t rows_ = 0;
  size_t cols_ = 0;
};

}  // namespace rill
