// SPDX-License-Identifier: Apache-2.0
// A small strict JSON reader and writer (RFC 8259) for the core, which has no dependencies:
// safetensors headers, tokenizer.json, config.json, conformance manifests. Depth and size are
// bounded; object key order is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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
  /// An integer outside int64, of type kDouble; `digits` is a JSON integer.
  static Json big_integer(std::string digits);
  static Json string(std::string value);
  static Json array(Array items = {});
  static Json object(Object members = {});

  [[nodiscard]] Type type() const {
    return std::holds_alternative<BigInteger>(value_) ? Type::kDouble
                                                      : static_cast<Type>(value_.index());
  }
  [[nodiscard]] bool is_null() const { return type() == Type::kNull; }
  [[nodiscard]] bool is_bool() const { return type() == Type::kBool; }
  [[nodiscard]] bool is_int() const { return type() == Type::kInt; }
  [[nodiscard]] bool is_number() const { return is_int() || type() == Type::kDouble; }
  [[nodiscard]] bool is_string() const { return type() == Type::kString; }
  [[nodiscard]] bool is_array() const { return type() == Type::kArray; }
  [[nodiscard]] bool is_object() const { return type() == Type::kObject; }

  // Each getter needs the matching type (RILL_CHECK): test it first.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] int64_t as_int() const;
  [[nodiscard]] double as_double() const;  // kInt or kDouble
  /// The text of a kDouble that was written as an integer outside int64; empty otherwise.
  [[nodiscard]] std::string_view big_integer_digits() const;
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const Array& items() const;
  [[nodiscard]] const Object& members() const;
  Array& items();
  Object& members();

  /// The member of an object, or nullptr if this is no object or has no such key.
  [[nodiscard]] const Json* find(std::string_view key) const;

  /// Appends a member to an object.
  void set(std::string key, Json value);

  /// The text form: ", " and ": " separators when `spaced`, none otherwise; non-ASCII text is kept
  /// as it is.
  [[nodiscard]] std::string dump(bool spaced = false) const;

 private:
  struct BigInteger {
    std::string digits;
  };
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object,
                             BigInteger>;  // in Type's order, then BigInteger

  explicit Json(Value value) : value_(std::move(value)) {}

  Value value_;
};

/// Limits of parse_json, so that hostile text can neither overflow the stack nor grow without
/// bound.
struct JsonLimits {
  size_t max_depth = 128;
  size_t max_bytes = size_t{1} << 30;
  size_t max_values =
      size_t{1} << 24;  ///< a value takes 40 bytes of memory, and as little as 2 of text
};

/// Parses one JSON text, which must span all of `text` (white space around it is fine).
/// A lone surrogate escape becomes U+FFFD. Integers outside int64 (and "-0") become doubles.
/// Errors: kInvalidFormat with the byte offset: ill-formed JSON or UTF-8, a duplicate key, a number
/// too large for a
///         double, too deep, too many values, too large.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace rill
