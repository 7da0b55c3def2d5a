// SPDX-License-Identifier: Apache-2.0
// GgufBuilder: makes GGUF bytes field by field, valid by default, with each field open to
// corruption. It shares no code with the library's reader or writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rill::test {

/// Little-endian bytes, appended.
class ByteSink {
 public:
  ByteSink& u8(uint8_t value) { return number(value, 1); }
  ByteSink& u16(uint16_t value) { return number(value, 2); }
  ByteSink& u32(uint32_t value) { return number(value, 4); }
  ByteSink& u64(uint64_t value) { return number(value, 8); }
  ByteSink& f32(float value);
  ByteSink& f64(double value);
  ByteSink& raw(std::string_view text);
  ByteSink& raw(const std::vector<std::byte>& bytes);
  /// u64 length and the text.
  ByteSink& string(std::string_view text) { return u64(text.size()).raw(text); }
  ByteSink& zeros(size_t count);

  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  ByteSink& number(uint64_t value, int size);

  std::vector<std::byte> bytes_;
};

/// One tensor of the file. Set the optional fields to lie about it.
struct BuilderTensor {
  std::string name;
  uint32_t type = 0;           // GGUF number; 0 is F32
  std::vector<uint64_t> dims;  // fastest first, as in the file
  std::vector<std::byte> data;
  std::optional<uint64_t> offset = std::nullopt;       // instead of the next aligned place
  std::optional<uint32_t> rank = std::nullopt;         // instead of dims.size()
  std::optional<uint64_t> name_length = std::nullopt;  // instead of name.size()
};

/// Collects the parts of a file.
class GgufBuilder {
 public:
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> num_tensors;  // instead of the number added
  std::optional<uint64_t> num_keys;
  size_t alignment = 32;  // of the data; write the key with u32("general.alignment", ...)

  GgufBuilder& u8(std::string_view key, uint8_t value);
  GgufBuilder& u32(std::string_view key, uint32_t value);
  GgufBuilder& i32(std::string_view key, int32_t value);
  GgufBuilder& u64(std::string_view key, uint64_t value);
  GgufBuilder& f32(std::string_view key, float value);
  GgufBuilder& boolean(std::string_view key, bool value);
  GgufBuilder& string(std::string_view key, std::string_view value);
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values);
  GgufBuilder& i32s(std::string_view key, const std::vector<int32_t>& values);
  /// A pair whose value bytes are given as they are.
  GgufBuilder& raw_pair(std::string_view key, uint32_t type, const ByteSink& value);
  GgufBuilder& tensor(BuilderTensor tensor);
  /// A tensor of F32 zeros.
  GgufBuilder& f32_tensor(std::string_view name, const std::vector<uint64_t>& dims);

  /// The file. header_bytes() is then the length of everything before the padding.
  [[nodiscard]] std::vector<std::byte> build();
  [[nodiscard]] size_t header_bytes() const { return header_bytes_; }

 private:
  ByteSink pairs_;
  uint64_t pair_count_ = 0;
  std::vector<BuilderTensor> tensors_;
  size_t header_bytes_ = 0;
};

}  // namespace rill::test
