// SPDX-License-Identifier: Apache-2.0
// What templates can call: filters, tests, methods of strings and dicts, global functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/value.h"

namespace rill::text::jinja {

/// The wall clock that strftime_now() reads; a part of the request, so that a prompt can be made
/// again.
struct DateTime {
  int year = 1970;
  int month = 1;  ///< 1 to 12
  int day = 1;    ///< 1 to 31
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// Bounds the memory that one rendering makes, and hands out the clock.
class Budget {
 public:
  Budget(size_t max_bytes, const DateTime& now) : left_bytes_(max_bytes), now_(now) {}

  /// Errors: kInvalidArgument once the bytes are used up.
  Status spend(size_t bytes);
  [[nodiscard]] const DateTime& now() const { return now_; }

 private:
  size_t left_bytes_;
  DateTime now_;
};

/// Evaluated arguments. Getters mark what was asked for; finish() refuses the rest.
class Arguments {
 public:
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at a position or with a name; nullptr if it was not given.
  [[nodiscard]] const Value* find(size_t position, std::string_view name) const;
  Result<int64_t> get_int(size_t position, std::string_view name, int64_t fallback) const;
  Result<bool> get_bool(size_t position, std::string_view name, bool fallback) const;
  Result<std::string> get_text(size_t position, std::string_view name,
                               std::string_view fallback) const;
  /// Errors: kInvalidArgument: more than `count` positional arguments, or a name that is not in the
  /// list.
  Status expect(size_t count, std::initializer_list<std::string_view> names) const;
};

struct Filter {
  std::string_view name;
  Result<Value> (*apply)(const Value& input, const Arguments& arguments, Budget& budget);
};

struct Test {
  std::string_view name;
  Result<bool> (*apply)(const Value& input, const Arguments& arguments);
};

/// nullptr if there is none of this name.
[[nodiscard]] const Filter* find_filter(std::string_view name);
[[nodiscard]] const Test* find_test(std::string_view name);

[[nodiscard]] bool is_known_method(std::string_view name);
/// Calls object.name(...). Errors: kInvalidArgument, also if this type has no such method.
Result<Value> call_method(const Value& object, std::string_view name, const Arguments& arguments,
                          Budget& budget);

[[nodiscard]] bool is_known_function(std::string_view name);
Result<Value> call_function(std::string_view name, const Arguments& arguments, Budget& budget);

/// object.name or object["name"] of values that have members; undefined for others and for missing
/// ones. Errors: the object itself is undefined.
Result<Value> get_member(const Value& object, const std::string& name);

/// The items that a loop visits: list items, dict keys, characters. Errors: not iterable.
Result<std::vector<Value>> iterate(const Value& value);

Error argument_error(const std::string& what);

}  // namespace rill::text::jinja
