// SPDX-License-Identifier: Apache-2.0
// safetensors reader: u64 header size | JSON header | data. Every offset and size of the untrusted
// file is checked.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace rill::format {

/// A stored tensor of a type that DType does not have (U8, BOOL, ...): nothing computes with it.
/// Lifetime of bytes: that of the file it came from.
struct RawTensor {
  std::string name;
  std::string dtype;  ///< the file's spelling
  Shape shape;
  std::span<const std::byte> bytes;
};

/// A parsed safetensors file.
class SafetensorsFile {
 public:
  /// Errors: kNotFound, kIo; kInvalidFormat (message: file, field, byte offset or tensor);
  /// kUnsupported (dtype).
  static Result<SafetensorsFile> open(const std::string& path);
  /// Parses bytes that the caller keeps alive; `name` stands for the path in messages.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TensorMap& tensors() const { return tensors_; }
  /// U8, BOOL, U16, U32, U64 and F8 tensors, kept apart.
  [[nodiscard]] const std::vector<RawTensor>& raw_tensors() const { return raw_tensors_; }
  /// The tensor of that name.
  /// Errors: kNotFound; kUnsupported if it is one of raw_tensors() (tensor and dtype are named).
  Result<const NamedTensor*> get(std::string_view name) const;
  /// The "__metadata__" strings.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return metadata_;
  }

 private:
  MappedFile mapping_;
  std::string name_;
  TensorMap tensors_;
  std::vector<RawTensor> raw_tensors_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

}  // namespace rill::format
