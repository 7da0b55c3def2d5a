// SPDX-License-Identifier: Apache-2.0
// SourceTensors: the tensors of a checkpoint, taken by name with their shapes checked; knows in the
// end which ones nobody took.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"
#include "tensor/tensor.h"

namespace rill::convert {

class SourceTensors {
 public:
  /// `where` is the file or directory, for messages. Lifetime: tensors must outlive this.
  SourceTensors(const TensorMap& tensors, std::string where)
      : tensors_(tensors), where_(std::move(where)) {}

  [[nodiscard]] bool has(std::string_view name) const { return tensors_.find(name) != nullptr; }
  [[nodiscard]] const std::string& where() const { return where_; }

  /// The tensor, of that shape (dimensions of 1 do not count).
  /// Errors: kNotFound, kInvalidFormat (another shape), kUnsupported (not F32, F16 or BF16).
  Result<TensorView> take(const std::string& name, const Shape& expected);
  /// The same with the shape as it is, of the given rank. Errors: the same.
  Result<TensorView> take_any(const std::string& name, size_t rank);
  /// The values, widened to F32. Errors: those of take().
  Result<std::vector<float>> take_values(const std::string& name, const Shape& expected);

  /// Errors: kUnsupported, naming a tensor that was not taken and is not ignored: its effect would
  /// be lost.
  Status refuse_unused(const std::function<bool(std::string_view name)>& ignored) const;

 private:
  [[nodiscard]] Error error(ErrorCode code, std::string_view name, const std::string& what) const;
  Result<TensorView> find(const std::string& name);

  const TensorMap& tensors_;
  std::string where_;
  std::unordered_set<std::string> taken_;
};

}  // namespace rill::convert
