// SPDX-License-Identifier: Apache-2.0
// safetensors reader: u64 header size | JSON header | data. Every offset and size of the untrusted
// file is checked.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace rill::format {

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
  /// The "__metadata__" strings.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return metadata_;
  }

 private:
  MappedFile mapping_;
  std::string name_;
  TensorMap tensors_;
  std::vector<std::pair<std::string, std::string>> metadata_;
};

}  // namespace rill::format
