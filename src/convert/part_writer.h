// SPDX-License-Identifier: Apache-2.0
// PartWriter: adds tensors of a speech package's part, each under a new name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "convert/layer_stack.h"
#include "convert/output_tensor.h"
#include "convert/source_tensors.h"

namespace rill::convert {

struct PartWriter {
  SourceTensors& source;
  std::vector<OutputTensor>& tensors;
  DType matrix_type = DType::kF32;

  /// A matrix of the part's type, of that shape in the file.
  Status matrix(const std::string& to, const std::string& from, const Shape& shape) const {
    return add(to, from, shape, matrix_type, "");
  }
  /// A matrix of the part's type whose shape the checkpoint decides.
  Status any_matrix(const std::string& to, const std::string& from) const {
    RILL_ASSIGN_OR_RETURN(const TensorView view, source.take_any(from, 2));
    tensors.push_back({to, view.shape, matrix_type, {view}, {}, ""});
    return {};
  }
  /// One row of F32.
  Status vector(const std::string& to, const std::string& from, size_t size) const {
    return add(to, from, {size}, DType::kF32, kVectorNote);
  }
  /// F32 of any shape, with the reason.
  Status wide(const std::string& to, const std::string& from, const Shape& shape,
              const char* note) const {
    return add(to, from, shape, DType::kF32, note);
  }

 private:
  Status add(const std::string& to, const std::string& from, const Shape& shape, DType dtype,
             const char* note) const {
    RILL_ASSIGN_OR_RETURN(const TensorView view, source.take(from, shape));
    tensors.push_back({to, shape, dtype, {view}, {}, dtype == matrix_type ? "" : note});
    return {};
  }
};

}  // namespace rill::convert
