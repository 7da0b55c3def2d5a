// SPDX-License-Identifier: Apache-2.0
#include "quant/packed_matrix.h"

#include "base/check.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "quant/pack_panel.h"
#include "quant/quantize.h"

namespace rill::quant {
namespace {

// Panels packed by one task: enough work to be worth handing out.
constexpr size_t kPanelsPerTask = 4;

Status check_source(const TensorView& source, size_t first_row, size_t num_rows) {
  if (!can_pack(source.dtype)) {
    return Error{ErrorCode::kUnsupported,
                 cat("pack weights: got type ", dtype_name(source.dtype),
                     ", expected a floating or quantized type of weights")};
  }
  RILL_CHECK(first_row <= source.shape.rows() && num_rows <= source.shape.rows() - first_row,
             "pack weights: rows outside the tensor");
  return {};
}

}  // namespace

Result<PackedMatrix> PackedMatrix::pack(const TensorView& source, ThreadPool& pool) {
  return pack_rows(source, 0, source.shape.rows(), pool);
}

Result<PackedMatrix> PackedMatrix::pack_rows(const TensorView& source, size_t first_row,
                                             size_t num_rows, ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(PackedMatrix file, borrow_rows(source, first_row, num_rows));
  PackedMatrix packed;
  const size_t panels = file.num_panels();
  if (file.panel_bytes_ > 0 && panels > static_cast<size_t>(-1) / file.panel_bytes_) {
    return Error{ErrorCode::kOutOfMemory, "pack weights: the size does not fit the address space"};
  }
  RILL_ASSIGN_OR_RETURN(packed.owned_, AlignedBuffer::create(panels * file.panel_bytes_));
  std::byte* out = packed.owned_.data();
  pool.parallel_for((panels + kPanelsPerTask - 1) / kPanelsPerTask, [&](size_t task) {
    const size_t end = std::min(panels, (task + 1) * kPanelsPerTask);
    for (size_t p = task * kPanelsPerTask; p < end; ++p)
      file.pack_panel(p, out + p * file.panel_bytes_);
  });
  packed.dtype_ = file.dtype_;
  packed.rows_ = file.rows_;
  packed.cols_ = file.cols_;
  packed.layout_ = Layout::kPanels;
  packed.panel_bytes_ = file.panel_bytes_;
  packed.data_ = out;
  return packed;
}

Result<PackedMatrix> PackedMatrix::borrow(const TensorView& source) {
  return borrow_rows(source, 0, source.shape.rows());
}

Result<PackedMatrix> PackedMatrix::borrow_rows(const TensorView& source, size_t first_row,
                                               size_t num_rows) {
  RILL_RETURN_IF_ERROR(check_source(source, first_row, num_rows));
  PackedMatrix matrix;
  matrix.dtype_ = source.dtype;
  matrix.rows_ = num_rows;
  matrix.cols_ = source.shape.cols();
  matrix.layout_ = Layout::kFile;
  matrix.panel_bytes_ = packed_panel_bytes(matrix.dtype_, matrix.cols_);
  matrix.data_ = source.data + first_row * row_bytes(matrix.dtype_, matrix.cols_);
  return matrix;
}

const std::byte* PackedMatrix::panel(size_t p) const {
  RILL_DCHECK(layout_ == Layout::kPanels && p < num_panels(), "panel: no such panel");
  return data_ + p * panel_bytes_;
}

void PackedMatrix::pack_panel(size_t p, std::byte* out) const {
  RILL_DCHECK(layout_ == Layout::kFile && p < num_panels(), "pack_panel: no such panel");
  const size_t stride = row_bytes(dtype_, cols_);
  const size_t first = p * kPanelRows;
  const size_t count = std::min(kPanelRows, rows_ - first);
  quant::pack_panel(dtype_, data_ + first * stride, count, cols_, out);
}

void PackedMatrix::read_row(size_t row, std::span<float> out) const {
  RILL_CHECK(row < rows_ && out.size() == cols_, "read_row: no such row, or a wrong size");
  if (layout_ == Layout::kFile) {
    dequantize_row(dtype_, data_ + row * row_bytes(dtype_, cols_), out);
  } else {
    dequantize_panel_row(dtype_, panel(row / kPanelRows), row % kPanelRows, out);
  }
}

}  // namespace rill::quant
