// SPDX-License-Identifier: Apache-2.0
// Reads the files under tests/data. A missing or broken one ends the test program with a message:
// it is no test result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/safetensors.h"
#include "tensor/shape.h"

namespace rill::test {

/// tests/data/RELATIVE.
std::string data_path(std::string_view relative);

/// The bytes of a file.
std::vector<std::byte> read_file(const std::string& path);

/// The bytes of a text literal or string.
std::vector<std::byte> to_bytes(std::string_view text);
std::string_view to_text(std::span<const std::byte> bytes);

/// A path for a file that the test writes, unique to this process.
std::string temp_path(std::string_view name);

/// Writes a file for a test to read.
void write_file(const std::string& path, std::span<const std::byte> bytes);

/// The tensors of a safetensors file of reference values, as plain vectors.
class Vectors {
 public:
  explicit Vectors(const std::string& path);

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] Shape shape(std::string_view name) const;
  /// Elements of a float tensor (F32, F16, BF16, F64) or of an integer one, as floats.
  [[nodiscard]] std::vector<float> floats(std::string_view name) const;
  /// Elements of an integer tensor.
  [[nodiscard]] std::vector<int64_t> ints(std::string_view name) const;
  /// Stored bytes of a tensor of any type, U8 included.
  [[nodiscard]] std::vector<std::byte> bytes(std::string_view name) const;
  [[nodiscard]] const format::SafetensorsFile& file() const { return file_; }

 private:
  format::SafetensorsFile file_;
};

/// sqrt(sum (got - want)^2) / sqrt(sum want^2): the measure that the tolerances are given in.
double relative_rms(std::span<const float> got, std::span<const float> want);

}  // namespace rill::test
