// SPDX-License-Identifier: Apache-2.0
// DType: element and block types of stored tensors, with their sizes. Numbers are GGUF's
// (ggml_type).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rill {

/// How the values of a tensor are stored. Quantized types hold blocks of values (spec: GGUF block
/// formats).
enum class DType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kBF16 = 30,
};

/// Size facts of a DType.
struct DTypeInfo {
  DType type;
  std::string_view name;  ///< GGUF's spelling: "F32", "Q4_K", ...
  size_t block_values;    ///< values per block; 1 for plain types
  size_t block_bytes;
};

/// Facts of a type that this build knows.
[[nodiscard]] const DTypeInfo& dtype_info(DType type);

/// The type with GGUF's number, or nothing if this build does not know it.
[[nodiscard]] std::optional<DType> dtype_from_gguf(uint32_t number);

/// The name that GGUF's number has in the format, known to this build or not ("Q2_K", "IQ4_NL",
/// ...); "" if none.
[[nodiscard]] std::string_view gguf_type_name(uint32_t number);

[[nodiscard]] inline std::string_view dtype_name(DType type) { return dtype_info(type).name; }
[[nodiscard]] inline bool is_quantized(DType type) { return dtype_info(type).block_values > 1; }
/// Bytes of a row of `values` values, which must be a multiple of the block size.
[[nodiscard]] inline size_t row_bytes(DType type, size_t values) {
  const DTypeInfo& info = dtype_info(type);
  return values / info.block_values * info.block_bytes;
}

}  // namespace rill
