// SPDX-License-Identifier: Apache-2.0
// Value: what a template computes with. Immutable but for namespaces; copies are cheap (shared
// ownership). Follows Python where the templates can tell: undefined is no None, True counts as 1,
// dicts keep their order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace rill::text::jinja {

class Value;
struct Scope;
struct Statement;

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
  size_t depth = 1;  ///< levels of nesting
};

struct Dict {
  std::vector<std::pair<std::string, Value>> members;
  size_t depth = 1;

  [[nodiscard]] const Value* find(std::string_view key) const;
};

/// namespace(...): the one thing that an inner scope can change for an outer one.
struct Namespace {
  std::vector<std::pair<std::string, Value>> members;
};

/// The "loop" variable.
struct Loop {
  std::shared_ptr<const List> items;
  size_t index0 = 0;
};

/// A macro; `scope` is where it was defined, which outlives every use.
struct Macro {
  const Statement* definition = nullptr;
  Scope* scope = nullptr;
};

class Value {
 public:
  enum class Kind {
    kUndefined,
    kNone,
    kBool,
    kInt,
    kBigInt,
    kFloat,
    kString,
    kList,
    kDict,
    kNamespace,
    kLoop,
    kMacro,
    kFunction
  };

  Value() = default;  // undefined
  static Value undefined(std::string what);
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value big_integer(std::string digits);
  static Value number(double value);
  static Value string(std::string text);
  static Value list(std::vector<Value> items, bool is_tuple = false);
  static Value dict(std::vector<std::pair<std::string, Value>> members);
  static Value name_space(std::vector<std::pair<std::string, Value>> members);
  static Value loop(std::shared_ptr<const List> items, size_t index0);
  static Value macro(const Statement* definition, Scope* scope);
  static Value function(std::string name);
  static Value from_json(const Json& json);

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(data_.index()); }
  [[nodiscard]] bool is(Kind kind) const { return this->kind() == kind; }
  [[nodiscard]] bool is_string() const { return is(Kind::kString); }
  /// bool, int, big int or float.
  [[nodiscard]] bool is_number() const;
  /// bool or int: as_int() has a value.
  [[nodiscard]] bool is_integral() const { return is(Kind::kBool) || is(Kind::kInt); }
  /// What may not be stored in lists, dicts and namespaces (it would allow cycles or dangling
  /// scopes).
  [[nodiscard]] bool is_handle() const;

  // Each getter needs the matching kind.
  [[nodiscard]] bool as_bool() const { return *std::get_if<bool>(&data_); }
  [[nodiscard]] int64_t as_int() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] const std::string& as_string()
      const;  ///< string, big int (digits), function (name), undefined (what)
  [[nodiscard]] const List& as_list() const;
  [[nodiscard]] std::shared_ptr<const List> list_ptr() const;
  [[nodiscard]] const Dict& as_dict() const;
  [[nodiscard]] Namespace& as_namespace() const;
  [[nodiscard]] const Loop& as_loop() const { return *std::get_if<Loop>(&data_); }
  [[nodiscard]] const Macro& as_macro() const { return *std::get_if<Macro>(&data_); }

  [[nodiscard]] bool truthy() const;
  /// Levels of nested lists and dicts.
  [[nodiscard]] size_t depth() const;
  /// "str", "int", ... for messages.
  [[nodiscard]] std::string_view type_name() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  struct None {};
  struct BigInt {
    Text digits;
  };
  struct Function {
    Text name;
  };
  struct Undefined {
    Text what;
  };
  struct String {
    Text text;
  };
  // In the order of Kind.
  using Data = std::variant<Undefined, None, bool, int64_t, BigInt, double, String,
                            std::shared_ptr<const List>, std::shared_ptr<const Dict>,
                            std::shared_ptr<Namespace>, Loop, Macro, Function>;

  explicit Value(Data data) : data_(std::move(data)) {}

  Data data_;
};

/// Python's ==.
[[nodiscard]] bool equal(const Value& a, const Value& b);

/// Python's < for numbers and strings. Errors: other pairs of types.
Result<bool> less(const Value& a, const Value& b);

}  // namespace rill::text::jinja
