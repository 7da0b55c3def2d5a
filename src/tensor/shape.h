// SPDX-License-Identifier: Apache-2.0
// Shape: up to four dimensions, row-major, slowest first ([rows, cols]). GGUF stores them reversed;
// readers turn them.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>

namespace rill {

class Shape {
 public:
  static constexpr size_t kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<size_t> dims);

  /// Adds a dimension after the last one; rank must be below kMaxRank.
  void append(size_t dim);

  [[nodiscard]] size_t rank() const { return rank_; }
  [[nodiscard]] size_t dim(size_t axis) const;
  /// Product of all dimensions (1 for rank 0). Readers guarantee that it does not overflow.
  [[nodiscard]] size_t num_elements() const;
  /// The last (contiguous) dimension; 1 for rank 0.
  [[nodiscard]] size_t cols() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  /// Product of all dimensions but the last.
  [[nodiscard]] size_t rows() const;
  [[nodiscard]] std::string to_string() const;  ///< "[2048, 1024]"

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<size_t, kMaxRank> dims_ = {};
  size_t rank_ = 0;
};

}  // namespace rill
