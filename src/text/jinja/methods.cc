// SPDX-License-Identifier: Apache-2.0
// Methods of strings and dicts. Methods that change their object do not exist here.
#include <algorithm>
#include <iterator>

#include "base/str_cat.h"
#include "text/jinja/builtins.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

using Kind = Value::Kind;
using Args = const Arguments&;

struct Method {
  std::string_view name;
  Kind object;
  Result<Value> (*call)(const Value& object, Args arguments, Budget& budget);
};

Result<Value> made_text(std::string text, Budget& budget) {
  RILL_RETURN_IF_ERROR(budget.spend(text.size()));
  return Value::string(std::move(text));
}

/// An optional text argument; None counts as not given.
Result<std::optional<std::string>> optional_text(Args arguments, size_t position,
                                                 std::string_view name) {
  const Value* value = arguments.find(position, name);
  if (value == nullptr || value->is(Kind::kNone)) return std::optional<std::string>();
  RILL_ASSIGN_OR_RETURN(std::string text, arguments.get_text(position, name, ""));
  return std::optional<std::string>(std::move(text));
}

Result<Value> strip_method(const Value& object, Args arguments, Budget& budget, StripSide side) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  RILL_ASSIGN_OR_RETURN(const std::optional<std::string> characters,
                        optional_text(arguments, 0, "chars"));
  return made_text(std::string(strip(object.as_string(), characters, side)), budget);
}

Result<Value> split_method(const Value& object, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(2, {"sep", "maxsplit"}));
  RILL_ASSIGN_OR_RETURN(const std::optional<std::string> separator,
                        optional_text(arguments, 0, "sep"));
  RILL_ASSIGN_OR_RETURN(const int64_t max_splits, arguments.get_int(1, "maxsplit", -1));
  if (separator && separator->empty()) return argument_error("split: empty separator");
  std::vector<Value> parts;
  for (const std::string_view part : split_text(object.as_string(), separator, max_splits)) {
    RILL_RETURN_IF_ERROR(budget.spend(part.size() + sizeof(Value)));
    parts.push_back(Value::string(std::string(part)));
  }
  return Value::list(std::move(parts));
}

Result<Value> rsplit_method(const Value& object, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(2, {"sep", "maxsplit"}));
  RILL_ASSIGN_OR_RETURN(const std::optional<std::string> separator,
                        optional_text(arguments, 0, "sep"));
  RILL_ASSIGN_OR_RETURN(const int64_t max_splits, arguments.get_int(1, "maxsplit", -1));
  if (!separator || separator->empty()) return argument_error("rsplit: expected a separator");
  std::string_view text = object.as_string();
  std::vector<Value> parts;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t at = text.rfind(*separator);
    if (at == std::string_view::npos) break;
    RILL_RETURN_IF_ERROR(budget.spend(text.size() - at + sizeof(Value)));
    parts.push_back(Value::string(std::string(text.substr(at + separator->size()))));
    text = text.substr(0, at);
  }
  parts.push_back(Value::string(std::string(text)));
  std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Result<Value> splitlines_method(const Value& object, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  std::string text = replace_text(object.as_string(), "\r\n", "\n", -1);
  std::replace(text.begin(), text.end(), '\r', '\n');
  if (!text.empty() && text.back() == '\n')
    text.pop_back();
  else if (text.empty())
    return Value::list({});
  std::vector<Value> lines;
  for (const std::string_view line : split_text(text, "\n", -1)) {
    RILL_RETURN_IF_ERROR(budget.spend(line.size() + sizeof(Value)));
    lines.push_back(Value::string(std::string(line)));
  }
  return Value::list(std::move(lines));
}

bool has_affix(std::string_view text, std::string_view affix, bool at_end) {
  if (affix.size() > text.size()) return false;
  return text.substr(at_end ? text.size() - affix.size() : 0, affix.size()) == affix;
}

/// startswith, endswith: a text or a tuple of them.
Result<Value> affix_method(const Value& object, Args arguments, bool at_end) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  if (arguments.positional.empty()) return argument_error("expected a text");
  const Value& wanted = arguments.positional[0];
  const std::vector<Value> options =
      wanted.is(Kind::kList) ? wanted.as_list().items : std::vector<Value>{wanted};
  bool found = false;
  for (const Value& option : options) {
    if (!option.is_string())
      return argument_error(cat("got ", option.type_name(), ", expected str"));
    found = found || has_affix(object.as_string(), option.as_string(), at_end);
  }
  return Value::boolean(found);
}

Result<Value> remove_affix(const Value& object, Args arguments, Budget& budget, bool at_end) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  RILL_ASSIGN_OR_RETURN(const std::string affix, arguments.get_text(0, "affix", ""));
  const std::string& text = object.as_string();
  if (!has_affix(text, affix, at_end)) return object;
  return made_text(text.substr(at_end ? 0 : affix.size(), text.size() - affix.size()), budget);
}

Result<Value> replace_method(const Value& object, Args arguments, Budget& budget) {
  if (arguments.positional.size() < 2)
    return argument_error("replace: expected an old and a new text");
  for (size_t i = 0; i < 2; ++i) RILL_RETURN_IF_ERROR(arguments.get_text(i, "", ""));
  return find_filter("replace")->apply(object, arguments, budget);
}

Result<Value> find_method(const Value& object, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  RILL_ASSIGN_OR_RETURN(const std::string wanted, arguments.get_text(0, "sub", ""));
  const size_t at = object.as_string().find(wanted);
  if (at == std::string::npos) return Value::integer(-1);
  return Value::integer(static_cast<int64_t>(
      characters_of(std::string_view(object.as_string()).substr(0, at)).size()));
}

Result<Value> count_method(const Value& object, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  RILL_ASSIGN_OR_RETURN(const std::string wanted, arguments.get_text(0, "sub", ""));
  if (wanted.empty()) return argument_error("count: expected a text that is not empty");
  return Value::integer(static_cast<int64_t>(split_text(object.as_string(), wanted, -1).size()) -
                        1);
}

Result<Value> join_method(const Value& object, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  if (arguments.positional.empty()) return argument_error("join: expected a list");
  RILL_ASSIGN_OR_RETURN(const std::vector<Value> items, iterate(arguments.positional[0]));
  for (const Value& item : items) {
    if (!item.is_string())
      return argument_error(cat("join: got ", item.type_name(), ", expected str"));
  }
  Arguments filter_arguments;
  filter_arguments.positional.push_back(object);
  return find_filter("join")->apply(arguments.positional[0], filter_arguments, budget);
}

Result<Value> change_method(const Value& object, Args arguments, Budget& budget,
                            std::string (*change)(std::string_view)) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  return made_text(change(object.as_string()), budget);
}

Result<Value> isdigit_method(const Value& object, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  const std::string& text = object.as_string();
  const bool all =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return Value::boolean(!text.empty() && all);
}

Result<Value> dict_part(const Value& object, Args arguments, Budget& budget,
                        std::string_view part) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  std::vector<Value> items;
  for (const auto& member : object.as_dict().members) {
    const Value key = Value::string(member.first);
    items.push_back(part == "keys"     ? key
                    : part == "values" ? member.second
                                       : Value::list({key, member.second}, true));
  }
  RILL_RETURN_IF_ERROR(budget.spend(items.size() * sizeof(Value)));
  return Value::list(std::move(items));
}

Result<Value> get_method(const Value& object, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(2, {}));
  if (arguments.positional.empty()) return argument_error("get: expected a key");
  const Value& key = arguments.positional[0];
  const Value* member = key.is_string() ? object.as_dict().find(key.as_string()) : nullptr;
  if (member != nullptr) return *member;
  return arguments.positional.size() > 1 ? arguments.positional[1] : Value::none();
}

using Object = const Value&;

constexpr Method kMethods[] = {
    {"capitalize", Kind::kString,
     [](Object o, Args a, Budget& b) { return change_method(o, a, b, capitalize); }},
    {"count", Kind::kString, count_method},
    {"endswith", Kind::kString, [](Object o, Args a, Budget&) { return affix_method(o, a, true); }},
    {"find", Kind::kString, find_method},
    {"get", Kind::kDict, get_method},
    {"isdigit", Kind::kString, isdigit_method},
    {"items", Kind::kDict, [](Object o, Args a, Budget& b) { return dict_part(o, a, b, "items"); }},
    {"join", Kind::kString, join_method},
    {"keys", Kind::kDict, [](Object o, Args a, Budget& b) { return dict_part(o, a, b, "keys"); }},
    {"lower", Kind::kString,
     [](Object o, Args a, Budget& b) { return change_method(o, a, b, to_lower); }},
    {"lstrip", Kind::kString,
     [](Object o, Args a, Budget& b) { return strip_method(o, a, b, StripSide::kLeft); }},
    {"removeprefix", Kind::kString,
     [](Object o, Args a, Budget& b) { return remove_affix(o, a, b, false); }},
    {"removesuffix", Kind::kString,
     [](Object o, Args a, Budget& b) { return remove_affix(o, a, b, true); }},
    {"replace", Kind::kString, replace_method},
    {"rsplit", Kind::kString, rsplit_method},
    {"rstrip", Kind::kString,
     [](Object o, Args a, Budget& b) { return strip_method(o, a, b, StripSide::kRight); }},
    {"split", Kind::kString, split_method},
    {"splitlines", Kind::kString, splitlines_method},
    {"startswith", Kind::kString,
     [](Object o, Args a, Budget&) { return affix_method(o, a, false); }},
    {"strip", Kind::kString,
     [](Object o, Args a, Budget& b) { return strip_method(o, a, b, StripSide::kBoth); }},
    {"upper", Kind::kString,
     [](Object o, Args a, Budget& b) { return change_method(o, a, b, to_upper); }},
    {"values", Kind::kDict,
     [](Object o, Args a, Budget& b) { return dict_part(o, a, b, "values"); }},
};

}  // namespace

bool is_known_method(std::string_view name) {
  return std::any_of(std::begin(kMethods), std::end(kMethods),
                     [name](const Method& m) { return m.name == name; });
}

Result<Value> call_method(const Value& object, std::string_view name, const Arguments& arguments,
                          Budget& budget) {
  if (object.is(Kind::kUndefined)) {
    return argument_error(cat("\"", printable(object.as_string()),
                              "\" is undefined, it has no method \"", name, "\""));
  }
  for (const Method& method : kMethods) {
    if (method.name == name && object.is(method.object))
      return method.call(object, arguments, budget);
  }
  return argument_error(
      cat("a value of type ", object.type_name(), " has no method \"", name, "\""));
}

}  // namespace rill::text::jinja
