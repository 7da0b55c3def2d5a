// SPDX-License-Identifier: Apache-2.0
// Which type each tensor of a GGUF file gets when the file is quantized, and why.
// docs/portable-format.md has the rules in words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "convert/file_type.h"
#include "format/gguf.h"

namespace rill::convert {

/// What the rules have to know about the whole file.
struct FileFacts {
  size_t num_layers = 0;            ///< layers of the backbone stack; 0 for other parts
  size_t num_attention_layers = 0;  ///< those with attn_v
  bool tied_head = false;           ///< the embedding table is also the output matrix
  bool is_encoder = false;          ///< mmproj part of a speech package
};
[[nodiscard]] FileFacts file_facts(const format::GgufFile& file);

/// A chosen type; `note` says why it is not the file's own, "" if it is.
struct TypeChoice {
  DType dtype = DType::kF32;
  std::string note;
};

/// attention_index: how many layers before this one have attn_v (for `blk.N.attn_v.weight` alone).
[[nodiscard]] TypeChoice choose_type(FileType type, std::string_view name, const Shape& shape,
                                     const FileFacts& facts, size_t attention_index);

}  // namespace rill::convert
