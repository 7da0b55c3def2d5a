// SPDX-License-Identifier: Apache-2.0
// A small strict JSON reader and writer (RFC 8259) for the core, which has no dependencies: safetensors headers,
// tokenizer.json, config.json, conformance manifests. Depth and size are bounded; object key order is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rill {

/// A JSON value. Numbers keep whether they were written as an integer.
class Json {
 public:
  enum class Type { kNull, kBool, kInt, kDouble, kString, kArray, kObject };
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  static Json boolean(bool value);
  static Json integer(int64_t value);
  static Json number(double value);
  static Json string(std::string value);
  static Json array(Array items = {});
  static Json object(Object members = {});

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool is_null() const { return type_ == Type::kNull; }
  [[nodiscard]] bool is_bool() const { return type_ == Type::kBool; }
  [[nodiscard]] bool is_int() const { return type_ == Type::kInt; }
  [[nodiscard]] bool is_number() const { return type_ == Type::kInt || type_ == Type::kDouble; }
  [[nodiscard]] bool is_string() const { return type_ == Type::kString; }
  [[nodiscard]] bool is_array() const { return type_ == Type::kArray; }
  [[nodiscard]] bool is_object() const { return type_ == Type::kObject; }

  // Each getter needs the matching type (RILL_CHECK): test it first.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] int64_t as_int() const;
  [[nodiscard]] double as_double() const;  // kInt or kDouble
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const Array& items() const;
  [[nodiscard]] const Object& members() const;
  Array& items();
  Object& members();

  /// The member of an object, or nullptr if this is no object or has no such key.
  [[nodiscard]] const Json* find(std::string_view key) const;

  /// Appends a member to an object.
  void set(std::string key, Json value);

  /// The text form: ", " and ": " separators when `spaced`, none otherwise; non-ASCII text is kept as it is.
  [[nodiscard]] std::string dump(bool spaced = false) const;

 private:
  Type type_ = Type::kNull;
  bool bool_ = false;
  int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  Array array_;
  Object object_;
};

/// Limits of parse_json, so that hostile text can neither overflow the stack nor grow without bound.
struct JsonLimits {
  size_t max_depth = 128;
  size_t max_bytes = size_t{1} << 30;
};

/// Parses one JSON text, which must span all of `text` (white space around it is fine).
/// A lone surrogate escape becomes U+FFFD. Integers outside int64 become doubles.
/// Errors: kInvalidFormat with the byte offset: ill-formed JSON or UTF-8, a duplicate key, too deep, too large.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace rill
