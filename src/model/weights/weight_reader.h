// SPDX-License-Identifier: Apache-2.0
// WeightReader: fetches a model's tensors from a GGUF file by name, checks their shapes, and packs
// or widens them. Knows no model: each model lists its own names and shapes.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "format/gguf.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"

namespace rill::model {

/// Reads weights of one file. Lifetime: the file must outlive the reader, and matrices that were
/// not packed.
class WeightReader {
 public:
  /// repack: matrices are copied into the kernels' own order (else read from the file as they lie;
  /// equal results).
  WeightReader(const format::GgufFile& file, bool repack, ThreadPool& pool)
      : file_(file), repack_(repack), pool_(pool) {}

  /// Shape of a tensor, for sizes that only the tensors tell. Errors: kNotFound, naming file and
  /// tensor.
  [[nodiscard]] Result<Shape> shape(std::string_view name) const;

  /// A matrix [rows, cols] for ops::matmul. The stored shape is `stored`; dimensions of 1 do not
  /// count. Errors: kNotFound, kInvalidFormat (shape), kUnsupported (type), kOutOfMemory.
  [[nodiscard]] Result<quant::PackedMatrix> matrix(std::string_view name,
                                                   const Shape& stored) const;
  /// The same in the file's own order whatever `repack` is: for embeddings, of which only single
  /// rows are read.
  [[nodiscard]] Result<quant::PackedMatrix> lookup(std::string_view name,
                                                   const Shape& stored) const;
  /// Values widened to F32, as one row or as [rows, cols] of `stored`; for norms, biases,
  /// convolution taps.
  [[nodiscard]] Result<Tensor> values(std::string_view name, const Shape& stored) const;

  [[nodiscard]] const format::GgufFile& file() const { return file_; }

 private:
  [[nodiscard]] Result<const NamedTensor*> find(std::string_view name) const;
  [[nodiscard]] Result<const NamedTensor*> find_shaped(std::string_view name,
                                                       const Shape& stored) const;
  [[nodiscard]] Result<TensorView> matrix_view(std::string_view name, const Shape& stored) const;

  const format::GgufFile& file_;
  bool repack_;
  ThreadPool& pool_;
  mutable quant::WeightSlabs slabs_;  // where the packed matrices lie
};

}  // namespace rill::model
