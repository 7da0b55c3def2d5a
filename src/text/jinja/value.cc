// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/value.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/str_cat.h"

namespace rill::text::jinja {
namespace {

std::shared_ptr<const std::string> share(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

const Value* Dict::find(std::string_view key) const {
  for (const auto& member : members) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Value Value::undefined(std::string what) { return Value(Data(Undefined{share(std::move(what))})); }
Value Value::none() { return Value(Data(None{})); }
Value Value::boolean(bool value) { return Value(Data(value)); }
Value Value::integer(int64_t value) { return Value(Data(value)); }
Value Value::big_integer(std::string digits) {
  return Value(Data(BigInt{share(std::move(digits))}));
}
Value Value::number(double value) { return Value(Data(value)); }
Value Value::string(std::string text) { return Value(Data(String{share(std::move(text))})); }
Value Value::loop(std::shared_ptr<const List> items, size_t index0) {
  return Value(Data(Loop{std::move(items), index0}));
}
Value Value::macro(const Statement* definition, Scope* scope) {
  return Value(Data(Macro{definition, scope}));
}
Value Value::function(std::string name) { return Value(Data(Function{share(std::move(name))})); }

Value Value::list(std::vector<Value> items, bool is_tuple) {
  auto list = std::make_shared<List>();
  for (const Value& item : items) list->depth = std::max(list->depth, item.depth() + 1);
  list->items = std::move(items);
  list->is_tuple = is_tuple;
  return Value(Data(std::shared_ptr<const List>(std::move(list))));
}

Value Value::dict(std::vector<std::pair<std::string, Value>> members) {
  auto dict = std::make_shared<Dict>();
  for (const auto& member : members) dict->depth = std::max(dict->depth, member.second.depth() + 1);
  dict->members = std::move(members);
  return Value(Data(std::shared_ptr<const Dict>(std::move(dict))));
}

Value Value::name_space(std::vector<std::pair<std::string, Value>> members) {
  return Value(Data(std::make_shared<Namespace>(Namespace{std::move(members)})));
}

Value Value::from_json(const Json& json) {
  switch (json.type()) {
    case Json::Type::kNull:
      return none();
    case Json::Type::kBool:
      return boolean(json.as_bool());
    case Json::Type::kInt:
      return integer(json.as_int());
    case Json::Type::kDouble:
      return json.big_integer_digits().empty()
                 ? number(json.as_double())
                 : big_integer(std::string(json.big_integer_digits()));
    case Json::Type::kString:
      return string(json.as_string());
    case Json::Type::kArray: {
      std::vector<Value> items;
      for (const Json& item : json.items()) items.push_back(from_json(item));
      return list(std::move(items));
    }
    case Json::Type::kObject:
      break;
  }
  std::vector<std::pair<std::string, Value>> members;
  for (const auto& member : json.members())
    members.emplace_back(member.first, from_json(member.second));
  return dict(std::move(members));
}

bool Value::is_number() const { return is_integral() || is(Kind::kBigInt) || is(Kind::kFloat); }

bool Value::is_handle() const {
  return is(Kind::kNamespace) || is(Kind::kLoop) || is(Kind::kMacro);
}

int64_t Value::as_int() const {
  return is(Kind::kBool) ? static_cast<int64_t>(as_bool()) : *std::get_if<int64_t>(&data_);
}

double Value::as_double() const {
  if (const auto* value = std::get_if<double>(&data_)) return *value;
  if (const auto* big = std::get_if<BigInt>(&data_))
    return parse_double(*big->digits).value_or(0.0);
  return static_cast<double>(as_int());
}

const std::string& Value::as_string() const {
  static const std::string kNothing;
  if (const auto* big = std::get_if<BigInt>(&data_)) return *big->digits;
  if (const auto* function = std::get_if<Function>(&data_)) return *function->name;
  if (const auto* undefined = std::get_if<Undefined>(&data_))
    return undefined->what ? *undefined->what : kNothing;
  return *std::get_if<String>(&data_)->text;
}

const List& Value::as_list() const { return **std::get_if<std::shared_ptr<const List>>(&data_); }
std::shared_ptr<const List> Value::list_ptr() const {
  return *std::get_if<std::shared_ptr<const List>>(&data_);
}
const Dict& Value::as_dict() const { return **std::get_if<std::shared_ptr<const Dict>>(&data_); }
Namespace& Value::as_namespace() const { return **std::get_if<std::shared_ptr<Namespace>>(&data_); }

bool Value::truthy() const {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return as_int() != 0;
    case Kind::kFloat:
      return as_double() != 0.0;
    case Kind::kString:
      return !as_string().empty();
    case Kind::kList:
      return !as_list().items.empty();
    case Kind::kDict:
      return !as_dict().members.empty();
    case Kind::kBigInt:
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kMacro:
    case Kind::kFunction:
      break;
  }
  return true;
}

size_t Value::depth() const {
  if (is(Kind::kList)) return as_list().depth;
  if (is(Kind::kDict)) return as_dict().depth;
  return 0;
}

std::string_view Value::type_name() const {
  static constexpr std::string_view kNames[] = {
      "undefined", "None", "bool",      "int",  "int",   "float",   "str",
      "list",      "dict", "namespace", "loop", "macro", "function"};
  return kNames[static_cast<size_t>(kind())];
}

namespace {

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.members.size() != b.members.size()) return false;
  return std::all_of(a.members.begin(), a.members.end(), [&b](const auto& member) {
    const Value* other = b.find(member.first);
    return other != nullptr && equal(member.second, *other);
  });
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
  if (a.is(Kind::kBigInt) && b.is(Kind::kBigInt)) return a.as_string() == b.as_string();
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kString:
      return a.as_string() == b.as_string();
    case Kind::kList:
      return a.as_list().is_tuple == b.as_list().is_tuple &&
             std::equal(a.as_list().items.begin(), a.as_list().items.end(),
                        b.as_list().items.begin(), b.as_list().items.end(), equal);
    case Kind::kDict:
      return equal_dicts(a.as_dict(), b.as_dict());
    case Kind::kNamespace:
      return &a.as_namespace() == &b.as_namespace();
    case Kind::kFunction:
      return a.as_string() == b.as_string();
    case Kind::kMacro:
      return a.as_macro().definition == b.as_macro().definition;
    default:
      return a.is(Kind::kNone) || a.is(Kind::kUndefined);
  }
}

Result<bool> less(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
  if (a.is_number() && b.is_number()) return a.as_double() < b.as_double();
  // Code point order is byte order in UTF-8.
  if (a.is_string() && b.is_string()) return a.as_string() < b.as_string();
  return Error{ErrorCode::kInvalidArgument,
               cat("cannot order ", a.type_name(), " and ", b.type_name())};
}

}  // namespace rill::text::jinja
