// SPDX-License-Identifier: Apache-2.0
// Scalar conversions between F32 and the stored types: the definition of what each format means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace rill::quant {

/// IEEE half <-> float. To half: round to nearest even, overflow to infinity.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
/// bfloat16 <-> float. To bfloat16: round to nearest even.
float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);

/// Dequantizes a row of out.size() values (a multiple of the block size) from `source` (may be
/// unaligned). Types: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K.
void dequantize_row(DType type, const std::byte* source, std::span<float> out);

/// Quantizes a row; `out` has row_bytes(type, values.size()) bytes. Same types.
void quantize_row(DType type, std::span<const float> values, std::byte* out);

}  // namespace rill::quant
