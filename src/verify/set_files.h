// SPDX-License-Identifier: Apache-2.0
// SetFiles: the files of a conformance set on disk: JSON, expected tensors, and the hashes that the
// set names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "format/safetensors.h"

namespace rill::verify {

/// An expected tensor widened to F32.
struct ExpectedTensor {
  std::vector<float> values;
  Shape shape;
};

/// The tensors of one vectors file.
class ExpectedTensors {
 public:
  static Result<ExpectedTensors> open(const std::string& path);

  [[nodiscard]] bool has(std::string_view name) const;
  /// Errors: kNotFound, kUnsupported (dtype); the file and the tensor are named.
  [[nodiscard]] Result<ExpectedTensor> floats(std::string_view name) const;
  [[nodiscard]] Result<std::vector<int32_t>> ints(std::string_view name) const;
  /// The bytes of a U8 tensor.
  [[nodiscard]] Result<std::vector<std::byte>> bytes(std::string_view name) const;
  [[nodiscard]] const std::vector<NamedTensor>& all() const { return file_.tensors().all(); }

 private:
  format::SafetensorsFile file_;
};

/// True if the path names a regular file (or a directory, for is_directory).
[[nodiscard]] bool is_file(const std::string& path);
[[nodiscard]] bool is_directory(const std::string& path);
/// Names in a directory, sorted.
Result<std::vector<std::string>> list_directory(const std::string& path);
/// A whole file as text. Errors: kNotFound, kIo.
Result<std::string> read_text(const std::string& path);
/// A JSON file. Errors name the file and the byte offset.
Result<Json> read_json(const std::string& path);

// Typed access to a set's JSON. Errors: kInvalidFormat naming `where` and the key.
Result<std::vector<int32_t>> json_ids(const Json& object, std::string_view key,
                                      std::string_view where);
Result<std::string> json_string(const Json& object, std::string_view key, std::string_view where);

/// The file hashes that a set names, as (relative path, lower-case hex SHA-256): the object
/// "sha256" of a manifest.json (in the set's folder or in vectors/, gguf/), and the lines of a file
/// SHA256SUMS.
Result<std::vector<std::pair<std::string, std::string>>> named_hashes(const std::string& set_dir);

/// The SHA-256 of a file. Errors: kNotFound, kIo.
Result<std::string> hash_file(const std::string& path);

}  // namespace rill::verify
