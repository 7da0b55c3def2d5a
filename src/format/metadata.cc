// SPDX-License-Identifier: Apache-2.0
#include "format/metadata.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "base/str_cat.h"

namespace rill::format {
namespace {

constexpr uint32_t number_of(GgufType type) { return static_cast<uint32_t>(type); }

std::string type_text(const MetadataValue& value) {
  if (value.type == number_of(GgufType::kArray))
    return cat("array of ", metadata_type_name(value.element_type));
  return std::string(metadata_type_name(value.type));
}

Error wrong(const Metadata& metadata, std::string_view key, const std::string& got,
            std::string_view expected) {
  return Error{ErrorCode::kInvalidFormat,
               cat("read metadata: ", printable(metadata.source(), 4096), ": ", printable(key),
                   ": got ", got, ", expected ", expected)};
}

Error missing(const Metadata& metadata, std::string_view key, std::string_view expected) {
  return Error{ErrorCode::kNotFound,
               cat("read metadata: ", printable(metadata.source(), 4096), ": ", printable(key),
                   ": got no such key, expected ", expected)};
}

// The value of alternative T under key.
template <typename T>
Result<T> get_as(const Metadata& metadata, std::string_view key, std::string_view expected) {
  const MetadataValue* value = metadata.find(key);
  if (value == nullptr) return missing(metadata, key, expected);
  const T* typed = std::get_if<T>(&value->value);
  if (typed == nullptr) return wrong(metadata, key, type_text(*value), expected);
  return *typed;
}

Result<uint64_t> get_unsigned(const Metadata& metadata, std::string_view key, uint64_t max,
                              std::string_view expected) {
  const MetadataValue* value = metadata.find(key);
  if (value == nullptr) return missing(metadata, key, expected);
  if (const auto* number = std::get_if<uint64_t>(&value->value)) {
    if (*number <= max) return *number;
    return wrong(metadata, key, cat(*number), expected);
  }
  if (const auto* number = std::get_if<int64_t>(&value->value)) {
    if (*number >= 0 && static_cast<uint64_t>(*number) <= max)
      return static_cast<uint64_t>(*number);
    return wrong(metadata, key, cat(*number), expected);
  }
  return wrong(metadata, key, type_text(*value), expected);
}

}  // namespace

std::string_view metadata_type_name(uint32_t type) {
  static constexpr std::string_view kNames[] = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                "i32", "f32", "bool", "string", "array",
                                                "u64", "i64", "f64"};
  return type < std::size(kNames) ? kNames[type] : std::string_view("unknown type");
}

MetadataValue metadata_u32(uint32_t value) {
  return {number_of(GgufType::kU32), 0, uint64_t{value}};
}

MetadataValue metadata_u64(uint64_t value) { return {number_of(GgufType::kU64), 0, value}; }

MetadataValue metadata_i32(int32_t value) { return {number_of(GgufType::kI32), 0, int64_t{value}}; }

MetadataValue metadata_f32(float value) {
  return {number_of(GgufType::kF32), 0, static_cast<double>(value)};
}

MetadataValue metadata_bool(bool value) { return {number_of(GgufType::kBool), 0, value}; }

MetadataValue metadata_string(std::string value) {
  return {number_of(GgufType::kString), 0, std::move(value)};
}

MetadataValue metadata_strings(MetadataValue::Strings values) {
  return {number_of(GgufType::kArray), number_of(GgufType::kString), std::move(values)};
}

MetadataValue metadata_i32s(const std::vector<int32_t>& values) {
  return {number_of(GgufType::kArray), number_of(GgufType::kI32),
          MetadataValue::Ints(values.begin(), values.end())};
}

MetadataValue metadata_f32s(const std::vector<float>& values) {
  return {number_of(GgufType::kArray), number_of(GgufType::kF32),
          MetadataValue::Doubles(values.begin(), values.end())};
}

void Metadata::set(std::string key, MetadataValue value) {
  const auto it = index_.find(key);
  if (it == index_.end()) {
    add(std::move(key), std::move(value));
  } else {
    pairs_[it->second].second = std::move(value);
  }
}

bool Metadata::add(std::string key, MetadataValue value) {
  if (!index_.emplace(key, pairs_.size()).second) return false;
  pairs_.emplace_back(std::move(key), std::move(value));
  return true;
}

const MetadataValue* Metadata::find(std::string_view key) const {
  const auto it = index_.find(std::string(key));
  return it == index_.end() ? nullptr : &pairs_[it->second].second;
}

Result<uint32_t> Metadata::get_u32(std::string_view key) const {
  RILL_ASSIGN_OR_RETURN(
      const uint64_t value,
      get_unsigned(*this, key, std::numeric_limits<uint32_t>::max(), "an integer in [0, 2^32)"));
  return static_cast<uint32_t>(value);
}

Result<uint64_t> Metadata::get_u64(std::string_view key) const {
  return get_unsigned(*this, key, std::numeric_limits<uint64_t>::max(), "an integer in [0, 2^64)");
}

Result<double> Metadata::get_float(std::string_view key) const {
  RILL_ASSIGN_OR_RETURN(const double value, get_as<double>(*this, key, "f32 or f64"));
  // A NaN would pass every range check that is written as "refuse if less".
  if (!std::isfinite(value)) return wrong(*this, key, cat(value), "a finite number");
  return value;
}

Result<bool> Metadata::get_bool(std::string_view key) const {
  return get_as<bool>(*this, key, "bool");
}

Result<std::string> Metadata::get_string(std::string_view key) const {
  return get_as<std::string>(*this, key, "string");
}

Result<std::vector<std::string>> Metadata::get_strings(std::string_view key) const {
  return get_as<MetadataValue::Strings>(*this, key, "array of string");
}

Result<std::vector<int64_t>> Metadata::get_ints(std::string_view key) const {
  return get_as<MetadataValue::Ints>(*this, key, "array of integers");
}

Result<uint32_t> Metadata::get_u32_or(std::string_view key, uint32_t fallback) const {
  return has(key) ? get_u32(key) : Result<uint32_t>(fallback);
}

Result<double> Metadata::get_float_or(std::string_view key, double fallback) const {
  return has(key) ? get_float(key) : Result<double>(fallback);
}

Result<bool> Metadata::get_bool_or(std::string_view key, bool fallback) const {
  return has(key) ? get_bool(key) : Result<bool>(fallback);
}

Result<std::string> Metadata::get_string_or(std::string_view key, std::string fallback) const {
  return has(key) ? get_string(key) : Result<std::string>(std::move(fallback));
}

}  // namespace rill::format
