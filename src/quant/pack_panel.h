// SPDX-License-Identifier: Apache-2.0
// Packing of 16 rows into one panel (layout: quant/blocks.h), and reading a row back out of it.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace rill::quant {

/// True for the types that have a panel layout.
[[nodiscard]] bool can_pack(DType type);

/// Bytes of a panel with `cols` columns, a multiple of 64.
[[nodiscard]] size_t packed_panel_bytes(DType type, size_t cols);

/// Packs `rows` (1 to 16) consecutive rows of the file into `out` (packed_panel_bytes(type, cols)
/// bytes).
void pack_panel(DType type, const std::byte* source, size_t rows, size_t cols, std::byte* out);

/// Dequantizes row `row` (0 to 15) of a panel; equal to dequantize_row on the file's row.
void dequantize_panel_row(DType type, const std::byte* panel, size_t row, std::span<float> out);

}  // namespace rill::quant
