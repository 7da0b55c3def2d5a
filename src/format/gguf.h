// SPDX-License-Identifier: Apache-2.0
// GGUF v2/v3 reader. Pure parsing: it knows types and layouts, no model. Every count, size, offset
// and string of the (untrusted) file is checked with overflow-safe arithmetic before it is used.
//
// Layout: "GGUF" | u32 version | u64 tensor count | u64 key count | key/value pairs | tensor infos
//         (name, u32 rank, u64 dims fastest first, u32 type, u64 offset) | padding to
//         general.alignment | data
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "base/result.h"
#include "format/metadata.h"
#include "tensor/tensor.h"

namespace rill::format {

/// A parsed GGUF file; owns its mapping when it was opened from a path.
class GgufFile {
 public:
  /// Errors: kNotFound, kIo; kInvalidFormat (message: file, field, byte offset); kUnsupported
  /// (version, big endian, a tensor type that this build does not know).
  static Result<GgufFile> open(const std::string& path);
  /// Parses bytes that the caller keeps alive; `name` stands for the path in messages.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint32_t version() const { return version_; }
  [[nodiscard]] size_t alignment() const { return alignment_; }
  [[nodiscard]] size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  [[nodiscard]] const TensorMap& tensors() const { return tensors_; }

  /// Lets the system drop the pages of a tensor that has been packed.
  void release(const NamedTensor& tensor) const;

 private:
  MappedFile mapping_;
  std::string name_;
  uint32_t version_ = 0;
  size_t alignment_ = 32;
  size_t size_bytes_ = 0;
  Metadata metadata_;
  TensorMap tensors_;
};

}  // namespace rill::format
