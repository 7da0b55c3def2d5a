// SPDX-License-Identifier: Apache-2.0
// What filters, tests, methods and functions share.
#include "text/jinja/builtins.h"

#include <algorithm>

#include "base/str_cat.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {

Error argument_error(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

Status Budget::spend(size_t bytes) {
  if (bytes > left_bytes_)
    return argument_error("the template makes more text than a rendering may");
  left_bytes_ -= bytes;
  return {};
}

const Value* Arguments::find(size_t position, std::string_view name) const {
  if (position < positional.size()) return &positional[position];
  for (const auto& argument : named) {
    if (argument.first == name) return &argument.second;
  }
  return nullptr;
}

Result<int64_t> Arguments::get_int(size_t position, std::string_view name, int64_t fallback) const {
  const Value* value = find(position, name);
  if (value == nullptr || value->is(Value::Kind::kNone)) return fallback;
  if (!value->is_integral())
    return argument_error(cat(name, ": got ", value->type_name(), ", expected int"));
  return value->as_int();
}

Result<bool> Arguments::get_bool(size_t position, std::string_view name, bool fallback) const {
  const Value* value = find(position, name);
  return value == nullptr ? fallback : value->truthy();
}

Result<std::string> Arguments::get_text(size_t position, std::string_view name,
                                        std::string_view fallback) const {
  const Value* value = find(position, name);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string())
    return argument_error(cat(name, ": got ", value->type_name(), ", expected str"));
  return value->as_string();
}

Status Arguments::expect(size_t count, std::initializer_list<std::string_view> names) const {
  if (positional.size() > count) {
    return argument_error(cat("got ", positional.size(), " arguments, expected at most ", count));
  }
  for (const auto& argument : named) {
    if (std::find(names.begin(), names.end(), argument.first) == names.end()) {
      return argument_error(cat("got an unexpected argument \"", printable(argument.first), "\""));
    }
  }
  return {};
}

namespace {

Value loop_member(const Loop& loop, std::string_view name) {
  const std::vector<Value>& items = loop.items->items;
  const auto index = static_cast<int64_t>(loop.index0);
  const auto length = static_cast<int64_t>(items.size());
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(length - index);
  if (name == "revindex0") return Value::integer(length - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == length);
  if (name == "length") return Value::integer(length);
  if (name == "previtem" && index > 0) return items[loop.index0 - 1];
  if (name == "nextitem" && index + 1 < length) return items[loop.index0 + 1];
  return Value::undefined(cat("loop.", name));
}

}  // namespace

Result<Value> get_member(const Value& object, const std::string& name) {
  using Kind = Value::Kind;
  if (object.is(Kind::kUndefined)) {
    return argument_error(cat("\"", printable(object.as_string()), "\" is undefined, it has no \"",
                              printable(name), "\""));
  }
  if (object.is(Kind::kDict)) {
    if (const Value* member = object.as_dict().find(name)) return *member;
  } else if (object.is(Kind::kNamespace)) {
    for (const auto& member : object.as_namespace().members) {
      if (member.first == name) return member.second;
    }
  } else if (object.is(Kind::kLoop)) {
    return loop_member(object.as_loop(), name);
  }
  return Value::undefined(name);
}

Result<std::vector<Value>> iterate(const Value& value) {
  using Kind = Value::Kind;
  std::vector<Value> items;
  if (value.is(Kind::kList)) {
    items = value.as_list().items;
  } else if (value.is(Kind::kDict)) {
    for (const auto& member : value.as_dict().members) items.push_back(Value::string(member.first));
  } else if (value.is_string()) {
    for (const std::string_view c : characters_of(value.as_string()))
      items.push_back(Value::string(std::string(c)));
  } else if (!value.is(Kind::kUndefined)) {
    return argument_error(cat("a value of type ", value.type_name(), " is not iterable"));
  }
  return items;
}

}  // namespace rill::text::jinja
