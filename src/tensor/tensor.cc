// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <utility>

namespace rill {

bool TensorMap::add(NamedTensor tensor) {
  if (!index_.emplace(tensor.name, tensors_.size()).second) return false;
  tensors_.push_back(std::move(tensor));
  return true;
}

const NamedTensor* TensorMap::find(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

Result<Tensor> Tensor::create(size_t rows, size_t cols) {
  if (cols != 0 && rows > static_cast<size_t>(-1) / cols) {
    return Error{ErrorCode::kOutOfMemory,
                 "allocate tensor: the size does not fit the address space"};
  }
  Tensor tensor;
  RILL_ASSIGN_OR_RETURN(tensor.buffer_, AlignedBuffer::create_for<float>(rows * cols));
  tensor.rows_ = rows;
  tensor.cols_ = cols;
  return tensor;
}

}  // namespace rill
