// SPDX-License-Identifier: Apache-2.0
#include "convert/source_tensors.h"

#include "base/str_cat.h"
#include "quant/quantize.h"

namespace rill::convert {
namespace {

Shape squeezed(const Shape& shape) {
  Shape out;
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) != 1) out.append(shape.dim(axis));
  }
  return out;
}

}  // namespace

Error SourceTensors::error(ErrorCode code, std::string_view name, const std::string& what) const {
  return Error{code, cat("convert: ", where_, ": ", printable(name), ": ", what)};
}

Result<TensorView> SourceTensors::find(const std::string& name) {
  const NamedTensor* tensor = tensors_.find(name);
  if (tensor == nullptr) return error(ErrorCode::kNotFound, name, "no such tensor");
  const TensorView& view = tensor->view;
  if (view.dtype != DType::kF32 && view.dtype != DType::kF16 && view.dtype != DType::kBF16) {
    return error(ErrorCode::kUnsupported, name,
                 cat("got type ", dtype_name(view.dtype), ", expected F32, F16 or BF16"));
  }
  if (view.shape.num_elements() == 0) {
    return error(ErrorCode::kInvalidFormat, name,
                 cat("got shape ", view.shape.to_string(), ", expected no zero dimension"));
  }
  taken_.insert(name);
  return view;
}

Result<TensorView> SourceTensors::take(const std::string& name, const Shape& expected) {
  RILL_ASSIGN_OR_RETURN(const TensorView view, find(name));
  if (squeezed(view.shape) == squeezed(expected)) return view;
  return error(ErrorCode::kInvalidFormat, name,
               cat("got shape ", view.shape.to_string(), ", expected ", expected.to_string()));
}

Result<TensorView> SourceTensors::take_any(const std::string& name, size_t rank) {
  RILL_ASSIGN_OR_RETURN(const TensorView view, find(name));
  if (view.shape.rank() == rank) return view;
  return error(ErrorCode::kInvalidFormat, name,
               cat("got shape ", view.shape.to_string(), ", expected ", rank, " dimensions"));
}

Result<std::vector<float>> SourceTensors::take_values(const std::string& name,
                                                      const Shape& expected) {
  RILL_ASSIGN_OR_RETURN(const TensorView view, take(name, expected));
  std::vector<float> values(view.shape.num_elements());
  quant::dequantize_row(view.dtype, view.data, values);
  return values;
}

Status SourceTensors::refuse_unused(
    const std::function<bool(std::string_view name)>& ignored) const {
  for (const NamedTensor& tensor : tensors_.all()) {
    if (taken_.count(tensor.name) > 0 || ignored(tensor.name)) continue;
    return error(ErrorCode::kUnsupported, tensor.name,
                 "this build does not know what the tensor is for");
  }
  return {};
}

}  // namespace rill::convert
