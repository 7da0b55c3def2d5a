// SPDX-License-Identifier: Apache-2.0
// The tests: "value is NAME(...)".
#include <algorithm>
#include <iterator>

#include "base/str_cat.h"
#include "text/jinja/builtins.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

using Kind = Value::Kind;

Result<bool> is_of_kind(const Value& value, const Arguments& arguments,
                        std::initializer_list<Kind> kinds) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  return std::find(kinds.begin(), kinds.end(), value.kind()) != kinds.end();
}

Result<Value> only_argument(const Arguments& arguments) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  if (arguments.positional.empty()) return argument_error("expected an argument");
  return arguments.positional[0];
}

Result<bool> compare(const Value& value, const Arguments& arguments, std::string_view op) {
  RILL_ASSIGN_OR_RETURN(const Value other, only_argument(arguments));
  return compare_values(op, value, other);
}

Result<int64_t> integral(const Value& value) {
  if (!value.is_integral()) return argument_error(cat("got ", value.type_name(), ", expected int"));
  return value.as_int();
}

Result<bool> has_remainder(const Value& value, int64_t divisor, int64_t wanted) {
  RILL_ASSIGN_OR_RETURN(const int64_t number, integral(value));
  if (divisor == 0) return argument_error("division by zero");
  if (divisor == -1) return wanted == 0;
  return (number % divisor != 0 ? 1 : 0) == wanted;
}

Result<bool> is_divisible(const Value& value, const Arguments& arguments) {
  RILL_ASSIGN_OR_RETURN(const Value divisor, only_argument(arguments));
  RILL_ASSIGN_OR_RETURN(const int64_t number, integral(divisor));
  return has_remainder(value, number, 0);
}

Result<bool> is_bool(const Value& value, bool wanted) {
  return value.is(Kind::kBool) && value.as_bool() == wanted;
}

using Args = const Arguments&;
using Input = const Value&;

constexpr Test kTests[] = {
    {"defined", [](Input v, Args) -> Result<bool> { return !v.is(Kind::kUndefined); }},
    {"undefined", [](Input v, Args) -> Result<bool> { return v.is(Kind::kUndefined); }},
    {"none", [](Input v, Args a) { return is_of_kind(v, a, {Kind::kNone}); }},
    {"boolean", [](Input v, Args a) { return is_of_kind(v, a, {Kind::kBool}); }},
    {"true", [](Input v, Args) { return is_bool(v, true); }},
    {"false", [](Input v, Args) { return is_bool(v, false); }},
    {"integer",
     [](Input v, Args a) {
       return is_of_kind(v, a, {Kind::kInt, Kind::kBigInt});
     }},
    {"float", [](Input v, Args a) { return is_of_kind(v, a, {Kind::kFloat}); }},
    {"number",
     [](Input v, Args a) {
       return is_of_kind(v, a, {Kind::kBool, Kind::kInt, Kind::kBigInt, Kind::kFloat});
     }},
    {"string", [](Input v, Args a) { return is_of_kind(v, a, {Kind::kString}); }},
    {"mapping", [](Input v, Args a) { return is_of_kind(v, a, {Kind::kDict}); }},
    {"sequence",
     [](Input v, Args a) {
       return is_of_kind(v, a, {Kind::kList, Kind::kString, Kind::kDict, Kind::kUndefined});
     }},
    {"iterable",
     [](Input v, Args a) {
       return is_of_kind(v, a, {Kind::kList, Kind::kString, Kind::kDict, Kind::kUndefined});
     }},
    {"callable",
     [](Input v, Args a) {
       return is_of_kind(v, a, {Kind::kMacro, Kind::kFunction, Kind::kUndefined});
     }},
    {"odd", [](Input v, Args) { return has_remainder(v, 2, 1); }},
    {"even", [](Input v, Args) { return has_remainder(v, 2, 0); }},
    {"divisibleby", is_divisible},
    {"eq", [](Input v, Args a) { return compare(v, a, "=="); }},
    {"equalto", [](Input v, Args a) { return compare(v, a, "=="); }},
    {"ne", [](Input v, Args a) { return compare(v, a, "!="); }},
    {"lt", [](Input v, Args a) { return compare(v, a, "<"); }},
    {"lessthan", [](Input v, Args a) { return compare(v, a, "<"); }},
    {"le", [](Input v, Args a) { return compare(v, a, "<="); }},
    {"gt", [](Input v, Args a) { return compare(v, a, ">"); }},
    {"greaterthan", [](Input v, Args a) { return compare(v, a, ">"); }},
    {"ge", [](Input v, Args a) { return compare(v, a, ">="); }},
    {"in", [](Input v, Args a) { return compare(v, a, "in"); }},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [name](const Test& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace rill::text::jinja
