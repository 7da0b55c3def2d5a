// SPDX-License-Identifier: Apache-2.0
// GGUF v3 writer: what it writes, gguf.h reads back equal. Used by convert, quantize and tests.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/metadata.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace rill::format {

/// A tensor to write. Its bytes are either in memory (`data`) or made when their turn comes
/// (`make_data`), so that a large model needs only one tensor at a time; they must stay alive until
/// the next one is asked for.
struct GgufTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  ///< slowest first, as everywhere in rill
  std::span<const std::byte> data;
  std::function<Result<std::span<const std::byte>>()> make_data;  ///< used instead of data when set
};

/// The file as bytes. The alignment is metadata's general.alignment (32 without it).
/// Errors: kInvalidArgument: a name or key that the reader would refuse, a tensor twice, a shape
/// that is not made of
///         whole blocks, data of the wrong size, an alignment out of bounds; and those of
///         make_data.
Result<std::vector<std::byte>> write_gguf(const Metadata& metadata,
                                          std::span<const GgufTensor> tensors);

/// The same to a file, written under a temporary name and then renamed. Errors also: kNotFound,
/// kIo.
Status write_gguf_file(const std::string& path, const Metadata& metadata,
                       std::span<const GgufTensor> tensors);

}  // namespace rill::format
