// SPDX-License-Identifier: Apache-2.0
// ValueGrammar: JSON values as expressions, also in the Python spelling that tool calls use. White
// space is fixed: none but at most one space behind a colon or a comma, so that no reply runs away
// in it. Numbers have at most 18 digits in front of the point and about 16 behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/code_points.h"
#include "text/grammar/grammar.h"

namespace rill::text::grammar {

enum class Dialect {
  kJson,
  kPython,  ///< '...' or "...", True, False and None beside true, false and null
};

/// A member of an object, key and all.
struct MemberExpr {
  ExprId expr = 0;
  bool is_required = false;
};

class ValueGrammar {
 public:
  static constexpr size_t kFreeLevels = 32;  ///< containers inside each other in free values

  ValueGrammar(Grammar& grammar, Dialect dialect) : grammar_(grammar), dialect_(dialect) {}

  ExprId null();
  ExprId boolean();
  ExprId integer();
  ExprId number();
  /// A string whose inside is given for each quoting.
  ExprId quoted(const std::function<ExprId(Quoting)>& inside);
  ExprId string(std::string_view text);
  /// Strings of min to max characters.
  ExprId any_string(uint32_t min, uint32_t max);
  /// Exactly this value.
  ExprId value(const Json& json);

  ExprId any_value() { return any_value(kFreeLevels); }
  ExprId any_object() { return object_of(any_value(kFreeLevels - 1), 0, kUnlimited); }
  ExprId any_array() { return list_of(any_value(kFreeLevels - 1), 0, kUnlimited); }
  /// A list of min to max items.
  ExprId list_of(ExprId item, uint32_t min, uint32_t max);
  /// An object with any keys.
  ExprId object_of(ExprId value, uint32_t min, uint32_t max);

  /// "key": value
  ExprId member(std::string_view key, ExprId value);
  /// A member with any key but those named. Errors: kUnsupported (a name is too long).
  Result<ExprId> other_member(std::vector<std::string> names, ExprId value);
  /// The members in their order, commas between them; those that are not required may be absent;
  /// then any number of `other` members (an expression that matches nothing: none).
  ExprId members(std::span<const MemberExpr> list, ExprId other);
  ExprId comma() { return grammar_.sequence({grammar_.byte(','), space()}); }

 private:
  ExprId any_value(size_t levels);
  ExprId any_key();
  ExprId key_without(std::span<const std::u32string> names, size_t depth, Quoting quoting);
  ExprId string_character(Quoting quoting);
  ExprId key_character(Quoting quoting);
  ExprId space() { return grammar_.optional(grammar_.byte(' ')); }
  ExprId comma_lists(ExprId item, uint32_t min, uint32_t max);

  Grammar& grammar_;
  Dialect dialect_;
  std::vector<ExprId> free_values_;  // by levels
  // Made once; by Quoting.
  std::array<std::optional<ExprId>, 4> string_characters_;
  std::array<std::optional<ExprId>, 4> key_characters_;
};

}  // namespace rill::text::grammar
