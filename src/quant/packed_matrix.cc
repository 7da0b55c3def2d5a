// SPDX-License-Identifier: Apache-2.0
#include "quant/packed_matrix.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "quant/pack_panel.h"
#include "quant/quantize.h"

namespace rill::quant {
namespace {

// Panels packed by one task: enough work to be worth handing out.
constexpr size_t kPanelsPerTask = 4;

}  // namespace

Result<PackedMatrix> PackedMatrix::pack(const TensorView& source, ThreadPool& pool,
                                        WeightSlabs* slabs) {
  RILL_ASSIGN_OR_RETURN(PackedMatrix file, borrow(source));
  PackedMatrix packed;
  const size_t panels = file.num_panels();
  if (file.panel_bytes_ > 0 && panels > static_cast<size_t>(-1) / file.panel_bytes_) {
    return Error{ErrorCode::kOutOfMemory, "pack weights: the size does not fit the address space"};
  }
  WeightSlabs::Piece memory;
  if (slabs != nullptr) {
    RILL_ASSIGN_OR_RETURN(memory, slabs->take(file.size_bytes()));
  } else {
    RILL_ASSIGN_OR_RETURN(AlignedBuffer own, AlignedBuffer::create(file.size_bytes()));
    memory.slab = std::make_shared<AlignedBuffer>(std::move(own));
    memory.data = memory.slab->data();
  }
  std::byte* out = memory.data;
  pool.parallel_for((panels + kPanelsPerTask - 1) / kPanelsPerTask, [&](size_t task) {
    const size_t end = std::min(panels, (task + 1) * kPanelsPerTask);
    for (size_t p = task * kPanelsPerTask; p < end; ++p)
      file.pack_panel(p, out + p * file.panel_bytes_);
  });
  packed.owned_ = std::move(memory.slab);
  packed.dtype_ = file.dtype_;
  packed.rows_ = file.rows_;
  packed.cols_ = file.cols_;
  packed.layout_ = Layout::kPanels;
  packed.panel_bytes_ = file.panel_bytes_;
  packed.data_ = out;
  return packed;
}

Result<PackedMatrix> PackedMatrix::borrow(const TensorView& source) {
  if (!can_pack(source.dtype)) {
    return Error{ErrorCode::kUnsupported,
                 cat("pack weights: got type ", dtype_name(source.dtype),
                     ", expected a floating or quantized type of weights")};
  }
  PackedMatrix matrix;
  matrix.dtype_ = source.dtype;
  matrix.rows_ = source.shape.rows();
  matrix.cols_ = source.shape.cols();
  matrix.layout_ = Layout::kFile;
  matrix.panel_bytes_ = packed_panel_bytes(matrix.dtype_, matrix.cols_);
  matrix.data_ = source.data;
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
