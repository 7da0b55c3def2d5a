// SPDX-License-Identifier: Apache-2.0
// PackedMatrix: a weight matrix [rows, cols] in the order in which the kernels read it. Layout:
// quant/blocks.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "quant/blocks.h"
#include "quant/weight_slabs.h"
#include "tensor/tensor.h"

namespace rill {
class ThreadPool;
}

namespace rill::quant {

/// How the values lie in memory.
enum class Layout {
  kPanels,  ///< 16 rows interleaved (kPanelRows), rows padded with zeros to whole panels
  kFile,    ///< as the file has them, row after row; kernels read panels packed on the fly into
            ///< scratch memory
};

/// A matrix for ops::matmul and for row lookups; move-only.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(PackedMatrix&&) = default;
  PackedMatrix& operator=(PackedMatrix&&) = default;

  /// Packs a stored [rows, cols] matrix (a rank-3 or -4 tensor counts as [rows(), cols()]).
  /// Types: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K.
  /// slabs: where the matrices of a model lie together; nullptr: memory of its own.
  /// Errors: kUnsupported (another type), kOutOfMemory.
  static Result<PackedMatrix> pack(const TensorView& source, ThreadPool& pool,
                                   WeightSlabs* slabs = nullptr);
  /// Keeps the file's own layout; `source` must outlive the matrix. Same results, no copy.
  static Result<PackedMatrix> borrow(const TensorView& source);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t cols() const { return cols_; }
  [[nodiscard]] Layout layout() const { return layout_; }
  [[nodiscard]] size_t num_panels() const { return (rows_ + kPanelRows - 1) / kPanelRows; }
  /// Bytes of one panel in kPanels layout.
  [[nodiscard]] size_t panel_bytes() const { return panel_bytes_; }
  /// Panel p in kPanels layout.
  [[nodiscard]] const std::byte* panel(size_t p) const;
  /// Writes panel p of a kFile matrix, packed, to `out` (panel_bytes() bytes).
  void pack_panel(size_t p, std::byte* out) const;
  /// Bytes of all panels: what a product reads.
  [[nodiscard]] size_t size_bytes() const { return num_panels() * panel_bytes_; }
  /// Bytes held in memory by this matrix (0 when borrowed).
  [[nodiscard]] size_t owned_bytes() const { return owned_ == nullptr ? 0 : size_bytes(); }

  /// Dequantizes one row; out has cols() values. Equal to dequantizing the file's row, whatever the
  /// layout.
  void read_row(size_t row, std::span<float> out) const;

 private:
  DType dtype_ = DType::kF32;
  size_t rows_ = 0;
  size_t cols_ = 0;
  Layout layout_ = Layout::kPanels;
  size_t panel_bytes_ = 0;
  std::shared_ptr<const AlignedBuffer> owned_;
  const std::byte* data_ = nullptr;  // in owned_ or in the borrowed source
};

}  // namespace rill::quant
