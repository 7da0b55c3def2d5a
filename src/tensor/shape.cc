// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include "base/check.h"
#include "base/str_cat.h"

namespace rill {

Shape::Shape(std::initializer_list<size_t> dims) {
  for (size_t dim : dims) append(dim);
}

void Shape::append(size_t dim) {
  RILL_CHECK(rank_ < kMaxRank, "Shape: more than four dimensions");
  dims_[rank_++] = dim;
}

size_t Shape::dim(size_t axis) const {
  RILL_CHECK(axis < rank_, "Shape: axis out of range");
  return dims_[axis];
}

size_t Shape::num_elements() const {
  size_t product = 1;
  for (size_t i = 0; i < rank_; ++i) product *= dims_[i];
  return product;
}

size_t Shape::rows() const {
  size_t product = 1;
  for (size_t i = 0; i + 1 < rank_; ++i) product *= dims_[i];
  return product;
}

std::string Shape::to_string() const { return cat(std::span<const size_t>(dims_.data(), rank_)); }

}  // namespace rill
