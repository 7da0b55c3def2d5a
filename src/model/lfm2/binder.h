// SPDX-License-Identifier: Apache-2.0
// Binder: finds tensors under either naming scheme, checks their shapes, packs or widens them, and
// knows in the end which ones nobody asked for. Used by weights.cc alone.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "model/lfm2/weights.h"

namespace rill::model::lfm2 {

class Binder {
 public:
  Binder(const WeightSource& source, const LoadOptions& options, ThreadPool& pool)
      : source_(source), options_(options), pool_(pool) {}

  /// The name of a tensor outside the layers, or of one in layer `layer`, in the source's scheme.
  [[nodiscard]] std::string name(std::string_view gguf, std::string_view transformers) const;
  [[nodiscard]] std::string layer_name(size_t layer, std::string_view gguf,
                                       std::string_view transformers) const;

  [[nodiscard]] bool has(const std::string& name) const {
    return source_.tensors->find(name) != nullptr;
  }

  /// The tensor, which must have that shape (dimensions of 1 do not count), and is marked as used.
  /// Errors: kNotFound, kInvalidFormat, kUnsupported (integers and other types that are no
  /// weights).
  Result<TensorView> view(const std::string& name, const Shape& expected);

  /// A matrix for ops::matmul, from a whole tensor or from a view of some of its rows.
  Result<PackedMatrix> matrix(const std::string& name, const Shape& expected);
  Result<PackedMatrix> matrix_of(const std::string& name, const TensorView& view);
  /// The same, always widened to F32.
  Result<PackedMatrix> matrix_f32(const std::string& name, const Shape& expected);
  /// Values widened to F32.
  Result<FloatVector> values(const std::string& name, const Shape& expected);

  /// Lets the pages of a packed tensor go.
  void release(const std::string& name) const;

  /// Errors: kUnsupported, naming a tensor of the layer stack that nothing has used: its effect
  /// would be lost.
  Status refuse_unused() const;

 private:
  [[nodiscard]] Error error(ErrorCode code, const std::string& name, const std::string& what) const;

  const WeightSource& source_;
  LoadOptions options_;
  ThreadPool& pool_;
  quant::WeightSlabs slabs_;
  std::unordered_set<std::string> used_;
};

/// Rows [first, first + count) of a matrix, or of a stack of matrices taken as one.
[[nodiscard]] TensorView row_slice(const TensorView& view, size_t first, size_t count);

}  // namespace rill::model::lfm2
