// SPDX-License-Identifier: Apache-2.0
// Metadata: the typed key/value pairs of a model file, with getters whose errors name the key and
// both types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.h"

namespace rill::format {

/// GGUF's metadata type numbers.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// The short name of a GGUF metadata type number: "u32", "string", ...; "unknown type" outside the
/// format.
[[nodiscard]] std::string_view metadata_type_name(uint32_t type);

/// A metadata value. GGUF's integer widths are folded to int64/uint64 and its floats to double;
/// `type` keeps the file's own type number for messages and for writing back.
struct MetadataValue {
  using Strings = std::vector<std::string>;
  using Ints = std::vector<int64_t>;  // u64 values above int64's range are refused by the reader
  using Doubles = std::vector<double>;
  using Bools = std::vector<bool>;

  uint32_t type = 0;          ///< GGUF type number; 9 for arrays
  uint32_t element_type = 0;  ///< GGUF element type of an array
  std::variant<uint64_t, int64_t, double, bool, std::string, Strings, Ints, Doubles, Bools> value;
};

// Values for writing, with the type that the file will state.
[[nodiscard]] MetadataValue metadata_u32(uint32_t value);
[[nodiscard]] MetadataValue metadata_u64(uint64_t value);
[[nodiscard]] MetadataValue metadata_i32(int32_t value);
[[nodiscard]] MetadataValue metadata_f32(float value);
[[nodiscard]] MetadataValue metadata_bool(bool value);
[[nodiscard]] MetadataValue metadata_string(std::string value);
[[nodiscard]] MetadataValue metadata_strings(MetadataValue::Strings values);
[[nodiscard]] MetadataValue metadata_i32s(const std::vector<int32_t>& values);
[[nodiscard]] MetadataValue metadata_f32s(const std::vector<float>& values);

/// Keys in file order with typed access.
class Metadata {
 public:
  explicit Metadata(std::string source = {}) : source_(std::move(source)) {}

  /// The file name that messages start with.
  [[nodiscard]] const std::string& source() const { return source_; }
  /// Adds a pair; false if the key is taken.
  bool add(std::string key, MetadataValue value);
  /// Adds a pair or replaces its value in place.
  void set(std::string key, MetadataValue value);
  [[nodiscard]] const MetadataValue* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] const std::vector<std::pair<std::string, MetadataValue>>& all() const {
    return pairs_;
  }

  // Getters. Errors: kNotFound (no such key), kInvalidFormat (another type, or an integer out of
  // range).
  Result<uint32_t> get_u32(
      std::string_view key) const;  ///< any integer type holding a value in [0, 2^32)
  Result<uint64_t> get_u64(std::string_view key) const;
  Result<double> get_float(std::string_view key) const;  ///< f32 or f64, and finite
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string> get_string(std::string_view key) const;
  Result<std::vector<std::string>> get_strings(std::string_view key) const;
  Result<std::vector<int64_t>> get_ints(std::string_view key) const;  ///< array of any integer type
  // The same, with a default when the key is absent (a wrong type is still an error).
  Result<uint32_t> get_u32_or(std::string_view key, uint32_t fallback) const;
  Result<double> get_float_or(std::string_view key, double fallback) const;
  Result<bool> get_bool_or(std::string_view key, bool fallback) const;
  Result<std::string> get_string_or(std::string_view key, std::string fallback) const;

 private:
  std::string source_;
  std::vector<std::pair<std::string, MetadataValue>> pairs_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace rill::format
