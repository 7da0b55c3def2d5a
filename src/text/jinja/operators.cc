// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/str_cat.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

using Kind = Value::Kind;

Error bad_operands(std::string_view op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->is(Kind::kUndefined))
      return argument_error(cat("\"", printable(value->as_string()), "\" is undefined"));
  }
  return argument_error(cat("\"", op, "\" does not take ", a.type_name(), " and ", b.type_name()));
}

/// Python's floor division and remainder: the remainder has the divisor's sign.
int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> integer_arithmetic(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (b == 0) {
    return argument_error("division by zero");
  } else if (op == "/") {
    return Value::number(static_cast<double>(a) / static_cast<double>(b));
  } else if (b == -1) {
    if (op == "//") overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
  } else {
    const int64_t quotient = floor_divide(a, b);
    result = op == "//" ? quotient : a - quotient * b;
  }
  if (overflow) return argument_error("an integer is too large");
  return Value::integer(result);
}

Result<Value> float_arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return Value::number(a + b);
  if (op == "-") return Value::number(a - b);
  if (op == "*") return Value::number(a * b);
  if (b == 0.0) return argument_error("division by zero");
  if (op == "/") return Value::number(a / b);
  if (op == "//") return Value::number(std::floor(a / b));
  const double remainder = std::fmod(a, b);
  return Value::number(remainder != 0.0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

Result<Value> repeat(const Value& sequence, int64_t count, Budget& budget) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  if (sequence.is_string()) {
    const std::string& text = sequence.as_string();
    if (!text.empty() && times > std::numeric_limits<size_t>::max() / text.size())
      return budget.spend(SIZE_MAX).error();
    RILL_RETURN_IF_ERROR(budget.spend(text.size() * times));
    std::string out;
    for (size_t i = 0; i < times && !text.empty(); ++i) out += text;
    return Value::string(std::move(out));
  }
  const std::vector<Value>& items = sequence.as_list().items;
  if (times > (size_t{1} << 32)) return budget.spend(SIZE_MAX).error();
  RILL_RETURN_IF_ERROR(budget.spend(items.size() * times * sizeof(Value)));
  std::vector<Value> out;
  for (size_t i = 0; i < times && !items.empty(); ++i)
    out.insert(out.end(), items.begin(), items.end());
  return Value::list(std::move(out), sequence.as_list().is_tuple);
}

Result<Value> concatenate(const Value& a, const Value& b, Budget& budget) {
  if (a.is_string()) {
    RILL_RETURN_IF_ERROR(budget.spend(a.as_string().size() + b.as_string().size()));
    return Value::string(a.as_string() + b.as_string());
  }
  std::vector<Value> items = a.as_list().items;
  RILL_RETURN_IF_ERROR(budget.spend((items.size() + b.as_list().items.size()) * sizeof(Value)));
  items.insert(items.end(), b.as_list().items.begin(), b.as_list().items.end());
  return Value::list(std::move(items), a.as_list().is_tuple);
}

bool is_sequence(const Value& value) { return value.is_string() || value.is(Kind::kList); }

Result<bool> contains(const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) return bad_operands("in", item, container);
    return container.as_string().find(item.as_string()) != std::string::npos;
  }
  if (container.is(Kind::kList)) {
    const std::vector<Value>& items = container.as_list().items;
    return std::any_of(items.begin(), items.end(),
                       [&item](const Value& other) { return equal(item, other); });
  }
  if (container.is(Kind::kDict))
    return item.is_string() && container.as_dict().find(item.as_string()) != nullptr;
  if (container.is(Kind::kUndefined)) return false;
  return bad_operands("in", item, container);
}

/// A position as Python means it: negative from the end. Nothing if outside.
std::optional<size_t> position_of(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (index < -count || index >= count) return std::nullopt;
  return static_cast<size_t>(index < 0 ? index + count : index);
}

/// The positions of a slice, in order.
std::vector<size_t> slice_positions(size_t size, std::optional<int64_t> begin,
                                    std::optional<int64_t> end, int64_t step) {
  const auto count = static_cast<int64_t>(size);
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? count : count - 1;
  const auto bound = [&](std::optional<int64_t> value, int64_t fallback) {
    if (!value) return fallback;
    const int64_t from_start = *value < 0 ? std::max(*value, -count - 1) + count : *value;
    return std::clamp(from_start, low, high);
  };
  const int64_t first = bound(begin, step > 0 ? low : high);
  const int64_t last = bound(end, step > 0 ? high : low);
  std::vector<size_t> positions;
  const int64_t stride = std::clamp(step, -count - 1, count + 1);
  for (int64_t i = first; step > 0 ? i < last : i > last; i += stride)
    positions.push_back(static_cast<size_t>(i));
  return positions;
}

}  // namespace

Result<Value> apply_arithmetic(std::string_view op, const Value& a, const Value& b,
                               Budget& budget) {
  if (a.is_integral() && b.is_integral()) return integer_arithmetic(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return float_arithmetic(op, a.as_double(), b.as_double());
  if (op == "+" && a.kind() == b.kind() && is_sequence(a)) return concatenate(a, b, budget);
  if (op == "*" && is_sequence(a) && b.is_integral()) return repeat(a, b.as_int(), budget);
  if (op == "*" && is_sequence(b) && a.is_integral()) return repeat(b, a.as_int(), budget);
  return bad_operands(op, a, b);
}

Result<bool> compare_values(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in") return contains(b, a);
  if (op == "not in") {
    RILL_ASSIGN_OR_RETURN(const bool found, contains(b, a));
    return !found;
  }
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  const bool is_nan =
      a.is_number() && b.is_number() && (std::isnan(a.as_double()) || std::isnan(b.as_double()));
  RILL_ASSIGN_OR_RETURN(const bool opposite, op == "<=" ? less(b, a) : less(a, b));
  return !opposite && !is_nan;
}

Result<Value> apply_sign(std::string_view op, const Value& operand) {
  if (operand.is_integral()) {
    const int64_t value = operand.as_int();
    if (op == "-" && value == std::numeric_limits<int64_t>::min())
      return argument_error("an integer is too large");
    return Value::integer(op == "-" ? -value : value);
  }
  if (operand.is_number())
    return Value::number(op == "-" ? -operand.as_double() : operand.as_double());
  return argument_error(cat("unary \"", op, "\" does not take ", operand.type_name()));
}

Result<Value> get_item(const Value& object, const Value& index) {
  if (index.is_string() || object.is(Kind::kUndefined)) return get_member(object, to_str(index));
  if (index.is_integral() && object.is(Kind::kList)) {
    const std::optional<size_t> position =
        position_of(index.as_int(), object.as_list().items.size());
    if (position) return object.as_list().items[*position];
  } else if (index.is_integral() && object.is_string()) {
    const std::vector<std::string_view> characters = characters_of(object.as_string());
    const std::optional<size_t> position = position_of(index.as_int(), characters.size());
    if (position) return Value::string(std::string(characters[*position]));
  }
  return Value::undefined(cat(object.type_name(), "[", to_str(index), "]"));
}

Result<Value> get_slice(const Value& object, std::optional<int64_t> begin,
                        std::optional<int64_t> end, std::optional<int64_t> step, Budget& budget) {
  if (step == std::optional<int64_t>(0)) return argument_error("a slice's step is zero");
  if (object.is(Kind::kList)) {
    const List& list = object.as_list();
    std::vector<Value> items;
    for (const size_t i : slice_positions(list.items.size(), begin, end, step.value_or(1)))
      items.push_back(list.items[i]);
    RILL_RETURN_IF_ERROR(budget.spend(items.size() * sizeof(Value)));
    return Value::list(std::move(items), list.is_tuple);
  }
  if (object.is(Kind::kUndefined))
    return argument_error(cat("\"", printable(object.as_string()), "\" is undefined"));
  if (!object.is_string()) {
    return argument_error(cat("a value of type ", object.type_name(), " has no slices"));
  }
  const std::vector<std::string_view> characters = characters_of(object.as_string());
  std::string text;
  for (const size_t i : slice_positions(characters.size(), begin, end, step.value_or(1)))
    text += characters[i];
  RILL_RETURN_IF_ERROR(budget.spend(text.size()));
  return Value::string(std::move(text));
}

}  // namespace rill::text::jinja
