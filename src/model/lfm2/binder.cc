// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2/binder.h"

#include <utility>

#include "base/str_cat.h"
#include "quant/quantize.h"

namespace rill::model::lfm2 {
namespace {

Shape squeezed(const Shape& shape) {
  Shape out;
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) != 1) out.append(shape.dim(axis));
  }
  return out;
}

bool is_weight_type(DType type) {
  switch (type) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF64:
      return false;
    default:
      return true;
  }
}

FloatVector widen(const TensorView& view) {
  FloatVector out(view.shape.num_elements());
  const size_t cols = view.shape.cols();
  for (size_t row = 0; row < view.shape.rows(); ++row) {
    const std::byte* source = view.data + row * row_bytes(view.dtype, cols);
    quant::dequantize_row(view.dtype, source, std::span<float>(out).subspan(row * cols, cols));
  }
  return out;
}

Result<PackedMatrix> pack_floats(const FloatVector& values, const Shape& shape, ThreadPool& pool) {
  return PackedMatrix::pack({reinterpret_cast<const std::byte*>(values.data()), DType::kF32, shape},
                            pool);
}

}  // namespace

TensorView row_slice(const TensorView& view, size_t first, size_t count) {
  TensorView slice = view;
  slice.data += first * row_bytes(view.dtype, view.shape.cols());
  slice.shape = Shape{count, view.shape.cols()};
  return slice;
}

std::string Binder::name(std::string_view gguf, std::string_view transformers) const {
  return source_.scheme == NameScheme::kGguf ? std::string(gguf)
                                             : cat(source_.prefix, transformers);
}

std::string Binder::layer_name(size_t layer, std::string_view gguf,
                               std::string_view transformers) const {
  return source_.scheme == NameScheme::kGguf
             ? cat("blk.", layer, ".", gguf)
             : cat(source_.prefix, "layers.", layer, ".", transformers);
}

Error Binder::error(ErrorCode code, const std::string& name, const std::string& what) const {
  return Error{code, cat("load weights: ", source_.name, ": ", printable(name), ": ", what)};
}

Result<TensorView> Binder::view(const std::string& name, const Shape& expected) {
  const NamedTensor* tensor = source_.tensors->find(name);
  if (tensor == nullptr) return error(ErrorCode::kNotFound, name, "no such tensor");
  const TensorView& view = tensor->view;
  if (squeezed(view.shape) != squeezed(expected)) {
    return error(ErrorCode::kInvalidFormat, name,
                 cat("got shape ", view.shape.to_string(), ", expected ", expected.to_string()));
  }
  if (!is_weight_type(view.dtype)) {
    return error(ErrorCode::kUnsupported, name,
                 cat("got type ", dtype_name(view.dtype), ", expected a weight type"));
  }
  used_.insert(name);
  return view;
}

Result<PackedMatrix> Binder::matrix_of(const std::string& name, const TensorView& view) {
  if (options_.form == MatrixForm::kWidened) {
    const FloatVector wide = widen(view);
    return pack_floats(wide, view.shape, pool_);
  }
  Result<PackedMatrix> matrix = options_.form == MatrixForm::kPacked
                                    ? PackedMatrix::pack(view, pool_, &slabs_)
                                    : PackedMatrix::borrow(view);
  if (!matrix)
    return std::move(matrix).error().with_context(cat("load weights: ", source_.name, ": ", name));
  return matrix;
}

Result<PackedMatrix> Binder::matrix(const std::string& name, const Shape& expected) {
  RILL_ASSIGN_OR_RETURN(TensorView stored, view(name, expected));
  stored.shape = expected;
  RILL_ASSIGN_OR_RETURN(PackedMatrix packed, matrix_of(name, stored));
  release(name);
  return packed;
}

Result<PackedMatrix> Binder::matrix_f32(const std::string& name, const Shape& expected) {
  RILL_ASSIGN_OR_RETURN(const FloatVector wide, values(name, expected));
  return pack_floats(wide, expected, pool_);
}

Result<FloatVector> Binder::values(const std::string& name, const Shape& expected) {
  RILL_ASSIGN_OR_RETURN(const TensorView stored, view(name, expected));
  return widen(stored);
}

void Binder::release(const std::string& name) const {
  if (options_.form != MatrixForm::kBorrowed && source_.gguf != nullptr)
    source_.gguf->release(*source_.tensors->find(name));
}

Status Binder::refuse_unused() const {
  const std::string layers = name("blk.", "layers.");
  for (const NamedTensor& tensor : source_.tensors->all()) {
    const bool matters = tensor.name.starts_with(layers) || tensor.name.starts_with("rope_");
    if (matters && used_.count(tensor.name) == 0) {
      return error(ErrorCode::kUnsupported, tensor.name,
                   "this build has no use for this tensor, and the model would differ without it");
    }
  }
  return {};
}

}  // namespace rill::model::lfm2
