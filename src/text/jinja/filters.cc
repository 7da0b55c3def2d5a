// SPDX-License-Identifier: Apache-2.0
// The filters over single values: "value | NAME(...)". Those over sequences are in
// sequence_filters.cc.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "text/jinja/builtins.h"
#include "text/jinja/python_text.h"
#include "text/jinja/sequence_filters.h"

namespace rill::text::jinja {
namespace {

using Kind = Value::Kind;
using Input = const Value&;
using Args = const Arguments&;

Result<Value> made_text(std::string text, Budget& budget) {
  RILL_RETURN_IF_ERROR(budget.spend(text.size()));
  return Value::string(std::move(text));
}

Result<Value> filter_default(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(2, {"default_value", "boolean"}));
  RILL_ASSIGN_OR_RETURN(const bool by_truth, arguments.get_bool(1, "boolean", false));
  const bool is_missing = value.is(Kind::kUndefined) || (by_truth && !value.truthy());
  if (!is_missing) return value;
  const Value* fallback = arguments.find(0, "default_value");
  return fallback == nullptr ? Value::string("") : *fallback;
}

Result<JsonStyle> json_style(Args arguments) {
  RILL_RETURN_IF_ERROR(arguments.expect(4, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  RILL_ASSIGN_OR_RETURN(style.ensure_ascii, arguments.get_bool(0, "ensure_ascii", false));
  RILL_ASSIGN_OR_RETURN(style.sort_keys, arguments.get_bool(3, "sort_keys", false));
  RILL_ASSIGN_OR_RETURN(const int64_t indent, arguments.get_int(1, "indent", -1));
  if (indent > 16) return argument_error("indent: expected at most 16");
  if (indent >= 0) {
    style.is_indented = true;
    style.indent = static_cast<size_t>(indent);
    style.item_separator = ",";
  }
  const Value* separators = arguments.find(2, "separators");
  if (separators != nullptr && !separators->is(Kind::kNone)) {
    const bool is_pair = separators->is(Kind::kList) && separators->as_list().items.size() == 2 &&
                         separators->as_list().items[0].is_string() &&
                         separators->as_list().items[1].is_string();
    if (!is_pair) return argument_error("separators: expected a pair of strings");
    style.item_separator = separators->as_list().items[0].as_string();
    style.key_separator = separators->as_list().items[1].as_string();
  }
  return style;
}

Result<Value> filter_tojson(Input value, Args arguments, Budget& budget) {
  // Positional arguments come in another order in Jinja's own filter; templates name them.
  RILL_ASSIGN_OR_RETURN(const JsonStyle style, json_style(arguments));
  std::string text;
  RILL_RETURN_IF_ERROR(append_json(value, style, text));
  return made_text(std::move(text), budget);
}

Result<Value> filter_string(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  if (value.is_string()) return value;
  return made_text(to_str(value), budget);
}

Result<Value> filter_trim(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {"chars"}));
  std::optional<std::string> characters;
  const Value* given = arguments.find(0, "chars");
  if (given != nullptr && !given->is(Kind::kNone)) characters = to_str(*given);
  return made_text(std::string(strip(to_str(value), characters, StripSide::kBoth)), budget);
}

Result<Value> filter_replace(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(3, {"old", "new", "count"}));
  const Value* from = arguments.find(0, "old");
  const Value* to = arguments.find(1, "new");
  if (from == nullptr || to == nullptr) return argument_error("expected an old and a new text");
  RILL_ASSIGN_OR_RETURN(const int64_t count, arguments.get_int(2, "count", -1));
  const std::string text = to_str(value);
  const std::string new_text = to_str(*to);
  // No more than a replacement for each byte and one at the end.
  RILL_RETURN_IF_ERROR(
      budget.spend(text.size() + (text.size() + 1) * std::min<size_t>(new_text.size(), 1 << 20)));
  if (new_text.size() > (1 << 20)) return argument_error("the new text is too long");
  return Value::string(replace_text(text, to_str(*from), new_text, count));
}

Result<Value> change_text(Input value, Args arguments, Budget& budget,
                          std::string (*change)(std::string_view)) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  return made_text(change(to_str(value)), budget);
}

Result<Value> filter_length(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  if (value.is_string())
    return Value::integer(static_cast<int64_t>(characters_of(value.as_string()).size()));
  if (value.is(Kind::kList))
    return Value::integer(static_cast<int64_t>(value.as_list().items.size()));
  if (value.is(Kind::kDict))
    return Value::integer(static_cast<int64_t>(value.as_dict().members.size()));
  if (value.is(Kind::kUndefined)) return Value::integer(0);
  return argument_error(cat("a value of type ", value.type_name(), " has no length"));
}

Result<Value> filter_int(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {"default"}));
  RILL_ASSIGN_OR_RETURN(const int64_t fallback, arguments.get_int(0, "default", 0));
  if (value.is_integral()) return Value::integer(value.as_int());
  if (value.is(Kind::kBigInt)) return value;
  const std::string text =
      value.is_string() ? std::string(strip(value.as_string(), std::nullopt, StripSide::kBoth))
                        : "";
  if (const std::optional<int64_t> number = parse_int(text)) return Value::integer(*number);
  const std::optional<double> number =
      value.is(Kind::kFloat) ? value.as_double() : parse_double(text);
  if (number && std::fabs(*number) < 9e18) return Value::integer(static_cast<int64_t>(*number));
  return Value::integer(fallback);
}

Result<Value> filter_float(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {"default"}));
  if (value.is_number()) return Value::number(value.as_double());
  const std::string text =
      value.is_string() ? std::string(strip(value.as_string(), std::nullopt, StripSide::kBoth))
                        : "";
  if (const std::optional<double> number = parse_double(text)) return Value::number(*number);
  const Value* fallback = arguments.find(0, "default");
  return fallback == nullptr ? Value::number(0.0) : *fallback;
}

Result<Value> filter_abs(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  if (value.is_integral() && value.as_int() > INT64_MIN)
    return Value::integer(std::abs(value.as_int()));
  if (value.is(Kind::kFloat)) return Value::number(std::fabs(value.as_double()));
  return argument_error(cat("abs does not take ", value.type_name()));
}

Result<Value> filter_indent(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(3, {"width", "first", "blank"}));
  RILL_ASSIGN_OR_RETURN(const int64_t width, arguments.get_int(0, "width", 4));
  RILL_ASSIGN_OR_RETURN(const bool with_first, arguments.get_bool(1, "first", false));
  RILL_ASSIGN_OR_RETURN(const bool with_blank, arguments.get_bool(2, "blank", false));
  if (width < 0 || width > 64) return argument_error("width: expected 0 to 64");
  const std::string margin(static_cast<size_t>(width), ' ');
  const std::string text = to_str(value);
  std::string out;
  size_t number = 0;
  for (const std::string_view line : split_text(text, "\n", -1)) {
    if (number > 0) out += '\n';
    const bool is_indented = number == 0 ? with_first : with_blank || !line.empty();
    if (is_indented) out += margin;
    out += line;
    ++number;
  }
  return made_text(std::move(out), budget);
}

Result<Value> filter_safe(Input value, Args arguments, Budget& budget) {
  return filter_string(value, arguments, budget);
}

constexpr Filter kFilters[] = {
    {"abs", filter_abs},
    {"capitalize", [](Input v, Args a, Budget& b) { return change_text(v, a, b, capitalize); }},
    {"count", filter_length},
    {"d", filter_default},
    {"default", filter_default},
    {"float", filter_float},
    {"indent", filter_indent},
    {"int", filter_int},
    {"length", filter_length},
    {"lower", [](Input v, Args a, Budget& b) { return change_text(v, a, b, to_lower); }},
    {"replace", filter_replace},
    {"safe", filter_safe},
    {"string", filter_string},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"upper", [](Input v, Args a, Budget& b) { return change_text(v, a, b, to_upper); }},
};

}  // namespace

const Filter* find_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const Filter& f) { return f.name == name; });
  return found == std::end(kFilters) ? find_sequence_filter(name) : found;
}

}  // namespace rill::text::jinja
