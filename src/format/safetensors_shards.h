// SPDX-License-Identifier: Apache-2.0
// A Transformers checkpoint: one safetensors file, or several with an index that says which tensor
// is where.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "format/safetensors.h"
#include "tensor/tensor.h"

namespace rill::format {

/// The tensors of all files of a checkpoint, merged.
class SafetensorsCheckpoint {
 public:
  /// Opens a folder (model.safetensors.index.json if it is there, else model.safetensors), an index
  /// (.json), or one file (.safetensors). Errors: kNotFound (no such file; a tensor that the index
  /// lists and its shard lacks), kIo, kInvalidFormat (an
  ///         ill-formed index, a shard outside the folder, a tensor in two shards or in none of the
  ///         index's lines), kUnsupported (a dtype or rank).
  static Result<SafetensorsCheckpoint> open(const std::string& path);

  [[nodiscard]] const TensorMap& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<SafetensorsFile>& files() const { return files_; }
  /// The tensor of that name. Errors: kNotFound; kUnsupported if its dtype is one that nothing
  /// computes with.
  Result<const NamedTensor*> get(std::string_view name) const;

 private:
  std::string name_;
  std::vector<SafetensorsFile> files_;
  TensorMap tensors_;
};

}  // namespace rill::format
