// SPDX-License-Identifier: Apache-2.0
#include "model/weights/weight_reader.h"

#include <utility>

#include "base/str_cat.h"
#include "quant/quantize.h"

namespace rill::model {
namespace {

/// The shape without its dimensions of 1: converters differ in whether they keep them.
Shape squeezed(const Shape& shape) {
  Shape out;
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) != 1) out.append(shape.dim(axis));
  }
  return out;
}

/// [rows, cols] of a weight: the first dimension against all others.
Shape as_matrix(const Shape& stored) {
  const size_t rows = stored.rank() == 0 ? 1 : stored.dim(0);
  return Shape{rows, rows == 0 ? 0 : stored.num_elements() / rows};
}

}  // namespace

Result<const NamedTensor*> WeightReader::find(std::string_view name) const {
  const NamedTensor* tensor = file_.tensors().find(name);
  if (tensor == nullptr) {
    return Error{ErrorCode::kNotFound, cat("load weights: ", file_.name(), ": no tensor ", name)};
  }
  return tensor;
}

Result<Shape> WeightReader::shape(std::string_view name) const {
  RILL_ASSIGN_OR_RETURN(const NamedTensor* tensor, find(name));
  return tensor->view.shape;
}

Result<const NamedTensor*> WeightReader::find_shaped(std::string_view name,
                                                     const Shape& stored) const {
  RILL_ASSIGN_OR_RETURN(const NamedTensor* tensor, find(name));
  const Shape& got = tensor->view.shape;
  if (squeezed(got) != squeezed(stored)) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load weights: ", file_.name(), ": ", name, ": got shape ", got.to_string(),
                     ", expected ", stored.to_string())};
  }
  return tensor;
}

Result<TensorView> WeightReader::matrix_view(std::string_view name, const Shape& stored) const {
  RILL_ASSIGN_OR_RETURN(const NamedTensor* tensor, find_shaped(name, stored));
  TensorView view = tensor->view;
  const Shape matrix = as_matrix(stored);
  if (is_quantized(view.dtype) && view.shape.cols() != matrix.cols()) {
    return Error{ErrorCode::kUnsupported,
                 cat("load weights: ", file_.name(), ": ", name, ": got ", dtype_name(view.dtype),
                     " blocks along a dimension of ", view.shape.cols(), ", expected them along ",
                     matrix.cols())};
  }
  view.shape = matrix;
  return view;
}

Result<quant::PackedMatrix> WeightReader::matrix(std::string_view name, const Shape& stored) const {
  RILL_ASSIGN_OR_RETURN(const TensorView view, matrix_view(name, stored));
  Result<quant::PackedMatrix> packed =
      repack_ ? quant::PackedMatrix::pack(view, pool_, &slabs_) : quant::PackedMatrix::borrow(view);
  if (!packed) {
    return std::move(packed).error().with_context(cat("load weights: ", file_.name(), ": ", name));
  }
  if (repack_) file_.release(*file_.tensors().find(name));
  return packed;
}

Result<quant::PackedMatrix> WeightReader::lookup(std::string_view name, const Shape& stored) const {
  RILL_ASSIGN_OR_RETURN(const TensorView view, matrix_view(name, stored));
  Result<quant::PackedMatrix> borrowed = quant::PackedMatrix::borrow(view);
  if (!borrowed) {
    return std::move(borrowed).error().with_context(
        cat("load weights: ", file_.name(), ": ", name));
  }
  return borrowed;
}

Result<Tensor> WeightReader::values(std::string_view name, const Shape& stored) const {
  RILL_ASSIGN_OR_RETURN(const TensorView view, matrix_view(name, stored));
  // borrow() is the one place that says which types can be read.
  Result<quant::PackedMatrix> source = quant::PackedMatrix::borrow(view);
  if (!source) {
    return std::move(source).error().with_context(cat("load weights: ", file_.name(), ": ", name));
  }
  const bool one_row = stored.rank() <= 1;
  const size_t rows = one_row ? 1 : view.shape.dim(0);
  const size_t cols = one_row ? view.shape.num_elements() : view.shape.dim(1);
  RILL_ASSIGN_OR_RETURN(Tensor out, Tensor::create(rows, cols));
  quant::dequantize_row(view.dtype, view.data, {out.data(), rows * cols});
  return out;
}

}  // namespace rill::model
