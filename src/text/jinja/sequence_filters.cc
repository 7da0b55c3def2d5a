// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/sequence_filters.h"

#include <algorithm>
#include <iterator>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

using Kind = Value::Kind;
using Input = const Value&;
using Args = const Arguments&;
using Values = std::vector<Value>;

Result<Value> made_list(Values items, Budget& budget) {
  RILL_RETURN_IF_ERROR(budget.spend(items.size() * sizeof(Value)));
  return Value::list(std::move(items));
}

/// "a.b.0" of a value.
Result<Value> path_member(const Value& value, const std::string& path) {
  Value current = value;
  for (const std::string_view part : split_text(path, ".", -1)) {
    const std::optional<int64_t> index = parse_int(part);
    const Value key = index ? Value::integer(*index) : Value::string(std::string(part));
    RILL_ASSIGN_OR_RETURN(current, get_item(current, key));
  }
  return current;
}

Result<Value> filter_join(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(2, {"d", "attribute"}));
  const Value* separator = arguments.find(0, "d");
  const Value* attribute = arguments.find(1, "attribute");
  const std::string between = separator == nullptr ? "" : to_str(*separator);
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (attribute != nullptr && !attribute->is(Kind::kNone)) {
      RILL_ASSIGN_OR_RETURN(item, path_member(item, to_str(*attribute)));
    }
    const size_t before = out.size();
    if (i > 0) out += between;
    append_str(item, out);
    RILL_RETURN_IF_ERROR(budget.spend(out.size() - before));
  }
  return Value::string(std::move(out));
}

Result<Value> filter_first(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  return items.empty() ? Value::undefined("first item") : items.front();
}

Result<Value> filter_last(Input value, Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  return items.empty() ? Value::undefined("last item") : items.back();
}

Result<Value> filter_list(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  RILL_ASSIGN_OR_RETURN(Values items, iterate(value));
  return made_list(std::move(items), budget);
}

Result<Value> filter_reverse(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  RILL_ASSIGN_OR_RETURN(Values items, iterate(value));
  std::reverse(items.begin(), items.end());
  if (!value.is_string()) return made_list(std::move(items), budget);
  return filter_join(Value::list(std::move(items)), {}, budget);
}

Values pairs_of(const Dict& dict) {
  Values pairs;
  for (const auto& member : dict.members) {
    pairs.push_back(Value::list({Value::string(member.first), member.second}, true));
  }
  return pairs;
}

Result<Value> filter_items(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  if (value.is(Kind::kUndefined)) return Value::list({});
  if (!value.is(Kind::kDict)) return argument_error(cat("items does not take ", value.type_name()));
  return made_list(pairs_of(value.as_dict()), budget);
}

std::string folded(const Value& value) { return to_lower(to_str(value)); }

Result<Value> filter_dictsort(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  if (!value.is(Kind::kDict))
    return argument_error(cat("dictsort does not take ", value.type_name()));
  Values pairs = pairs_of(value.as_dict());
  std::stable_sort(pairs.begin(), pairs.end(), [](const Value& a, const Value& b) {
    return folded(a.as_list().items[0]) < folded(b.as_list().items[0]);
  });
  return made_list(std::move(pairs), budget);
}

/// Sort keys: texts fold their case unless asked otherwise; all keys must be of one sort.
Result<Value> filter_sort(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(3, {"reverse", "case_sensitive", "attribute"}));
  RILL_ASSIGN_OR_RETURN(const bool reverse, arguments.get_bool(0, "reverse", false));
  RILL_ASSIGN_OR_RETURN(const bool keep_case, arguments.get_bool(1, "case_sensitive", false));
  const Value* attribute = arguments.find(2, "attribute");
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  std::vector<std::pair<Value, size_t>> keys;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = items[i];
    if (attribute != nullptr && !attribute->is(Kind::kNone)) {
      RILL_ASSIGN_OR_RETURN(key, path_member(key, to_str(*attribute)));
    }
    if (key.is_string() && !keep_case) key = Value::string(folded(key));
    if (!keys.empty()) RILL_RETURN_IF_ERROR(less(keys.front().first, key));
    keys.emplace_back(std::move(key), i);
  }
  std::stable_sort(keys.begin(), keys.end(), [reverse](const auto& a, const auto& b) {
    const Result<bool> is_less = reverse ? less(b.first, a.first) : less(a.first, b.first);
    return is_less && *is_less;
  });
  Values sorted;
  for (const auto& key : keys) sorted.push_back(items[key.second]);
  return made_list(std::move(sorted), budget);
}

Result<Value> filter_unique(Input value, Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(0, {}));
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  if (items.size() > 4096) return argument_error("unique takes at most 4096 items");
  Values kept;
  for (const Value& item : items) {
    const bool is_seen = std::any_of(kept.begin(), kept.end(), [&item](const Value& other) {
      return item.is_string() && other.is_string() ? folded(item) == folded(other)
                                                   : equal(item, other);
    });
    if (!is_seen) kept.push_back(item);
  }
  return made_list(std::move(kept), budget);
}

/// map("filter name", ...) or map(attribute="a.b", default=...).
Result<Value> filter_map(Input value, Args arguments, Budget& budget) {
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  const Value* attribute = arguments.positional.empty() ? arguments.find(0, "attribute") : nullptr;
  Values mapped;
  if (attribute != nullptr) {
    RILL_RETURN_IF_ERROR(arguments.expect(0, {"attribute", "default"}));
    const Value* fallback = arguments.find(1, "default");
    for (const Value& item : items) {
      RILL_ASSIGN_OR_RETURN(Value member, path_member(item, to_str(*attribute)));
      const bool use_fallback = member.is(Kind::kUndefined) && fallback != nullptr;
      mapped.push_back(use_fallback ? *fallback : std::move(member));
    }
    return made_list(std::move(mapped), budget);
  }
  if (arguments.positional.empty()) return argument_error("map: expected a filter or an attribute");
  const std::string name = to_str(arguments.positional[0]);
  const Filter* filter = find_filter(name);
  if (filter == nullptr) return argument_error(cat("there is no filter \"", printable(name), "\""));
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const Value& item : items) {
    RILL_ASSIGN_OR_RETURN(Value result, filter->apply(item, rest, budget));
    mapped.push_back(std::move(result));
  }
  return made_list(std::move(mapped), budget);
}

/// select, reject ("test", ...), selectattr, rejectattr ("attribute", "test", ...); without a test:
/// truth.
Result<Value> choose(Input value, Args arguments, Budget& budget, bool by_attribute, bool wanted) {
  RILL_ASSIGN_OR_RETURN(const Values items, iterate(value));
  Arguments rest = arguments;
  std::string attribute;
  if (by_attribute) {
    if (rest.positional.empty()) return argument_error("expected an attribute");
    attribute = to_str(rest.positional[0]);
    rest.positional.erase(rest.positional.begin());
  }
  const Test* test = nullptr;
  if (!rest.positional.empty()) {
    const std::string name = to_str(rest.positional[0]);
    test = find_test(name);
    if (test == nullptr) return argument_error(cat("there is no test \"", printable(name), "\""));
    rest.positional.erase(rest.positional.begin());
  }
  Values kept;
  for (const Value& item : items) {
    Value subject = item;
    if (by_attribute) {
      RILL_ASSIGN_OR_RETURN(subject, path_member(item, attribute));
    }
    bool passes = subject.truthy();
    if (test != nullptr) {
      RILL_ASSIGN_OR_RETURN(passes, test->apply(subject, rest));
    }
    if (passes == wanted) kept.push_back(item);
  }
  return made_list(std::move(kept), budget);
}

constexpr Filter kSequenceFilters[] = {
    {"dictsort", filter_dictsort},
    {"first", filter_first},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"list", filter_list},
    {"map", filter_map},
    {"reject", [](Input v, Args a, Budget& b) { return choose(v, a, b, false, false); }},
    {"rejectattr", [](Input v, Args a, Budget& b) { return choose(v, a, b, true, false); }},
    {"reverse", filter_reverse},
    {"select", [](Input v, Args a, Budget& b) { return choose(v, a, b, false, true); }},
    {"selectattr", [](Input v, Args a, Budget& b) { return choose(v, a, b, true, true); }},
    {"sort", filter_sort},
    {"unique", filter_unique},
};

}  // namespace

const Filter* find_sequence_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSequenceFilters), std::end(kSequenceFilters),
                                   [name](const Filter& f) { return f.name == name; });
  return found == std::end(kSequenceFilters) ? nullptr : found;
}

}  // namespace rill::text::jinja
