// SPDX-License-Identifier: Apache-2.0
// FileType: the type that a converted or quantized file is named after, GGUF's general.file_type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/dtype.h"

namespace rill::convert {

/// What most matrices of a file are stored as. The values are GGUF's.
enum class FileType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ8_0 = 7,
  kQ4_K_M = 15,  ///< Q4_K, with Q6_K where precision matters most
  kQ5_K_M = 17,  ///< Q5_K, likewise
  kQ6_K = 18,
  kBF16 = 32,
};

/// "F16", "Q4_K_M", ...
[[nodiscard]] std::string_view file_type_name(FileType type);

/// By name, in upper or lower case. Errors: kInvalidArgument, naming the choices.
Result<FileType> file_type_by_name(std::string_view name);

/// The type of most matrices.
[[nodiscard]] DType base_dtype(FileType type);

/// F32, F16 or BF16: each value stored for itself.
[[nodiscard]] inline bool is_plain(FileType type) { return !is_quantized(base_dtype(type)); }

}  // namespace rill::convert
