// SPDX-License-Identifier: Apache-2.0
// The global functions: range, namespace, dict, raise_exception, strftime_now.
#include <algorithm>
#include <iterator>

#include "base/str_cat.h"
#include "text/jinja/builtins.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

using Kind = Value::Kind;
using Args = const Arguments&;

struct Function {
  std::string_view name;
  Result<Value> (*call)(Args arguments, Budget& budget);
};

Result<Value> call_range(Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(3, {}));
  if (arguments.positional.empty()) return argument_error("range: expected an end");
  const bool has_begin = arguments.positional.size() > 1;
  RILL_ASSIGN_OR_RETURN(const int64_t first, arguments.get_int(0, "", 0));
  RILL_ASSIGN_OR_RETURN(const int64_t second, arguments.get_int(1, "", 0));
  RILL_ASSIGN_OR_RETURN(const int64_t step, arguments.get_int(2, "", 1));
  const int64_t begin = has_begin ? first : 0;
  const int64_t end = has_begin ? second : first;
  if (step == 0) return argument_error("range: the step is zero");
  // Unsigned arithmetic: the distance of two int64 always fits.
  const bool is_empty = step > 0 ? begin >= end : begin <= end;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                                     : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
  const uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t count = is_empty ? 0 : (distance - 1) / stride + 1;
  if (count > SIZE_MAX / sizeof(Value)) return budget.spend(SIZE_MAX).error();
  RILL_RETURN_IF_ERROR(budget.spend(static_cast<size_t>(count) * sizeof(Value)));
  std::vector<Value> items;
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(Value::integer(
        static_cast<int64_t>(static_cast<uint64_t>(begin) + i * static_cast<uint64_t>(step))));
  }
  return Value::list(std::move(items));
}

Result<Value> call_namespace(Args arguments, Budget&) {
  if (arguments.positional.size() > 1)
    return argument_error("namespace: expected one dict at most");
  // Named members come first, so that they win over the dict's.
  std::vector<std::pair<std::string, Value>> members = arguments.named;
  if (!arguments.positional.empty()) {
    if (!arguments.positional[0].is(Kind::kDict))
      return argument_error("namespace: expected a dict");
    const auto& more = arguments.positional[0].as_dict().members;
    members.insert(members.end(), more.begin(), more.end());
  }
  return Value::name_space(std::move(members));
}

Result<Value> call_dict(Args arguments, Budget&) {
  if (!arguments.positional.empty()) return argument_error("dict: expected named arguments only");
  return Value::dict(arguments.named);
}

Result<Value> call_raise_exception(Args arguments, Budget&) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  const std::string message = arguments.positional.empty() ? "" : to_str(arguments.positional[0]);
  return argument_error(cat("the template refuses: ", printable(message, 400)));
}

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int day_of_year(const DateTime& t) {
  static constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  return kBefore[t.month - 1] + t.day + (t.month > 2 && is_leap(t.year) ? 1 : 0);
}

/// 0 is Sunday (Gauss).
int day_of_week(const DateTime& t) {
  const int y = t.year - 1;
  return (y + y / 4 - y / 100 + y / 400 + day_of_year(t)) % 7;
}

std::string padded(int value, size_t width) {
  std::string digits = std::to_string(value);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

/// One directive; nothing if it is not known.
std::optional<std::string> directive(char letter, const DateTime& t) {
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  const std::string_view month = kMonths[t.month - 1];
  const std::string_view day = kDays[day_of_week(t)];
  switch (letter) {
    case 'Y':
      return padded(t.year, 4);
    case 'y':
      return padded(t.year % 100, 2);
    case 'm':
      return padded(t.month, 2);
    case 'd':
      return padded(t.day, 2);
    case 'H':
      return padded(t.hour, 2);
    case 'I':
      return padded(hour12, 2);
    case 'M':
      return padded(t.minute, 2);
    case 'S':
      return padded(t.second, 2);
    case 'j':
      return padded(day_of_year(t), 3);
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'B':
      return std::string(month);
    case 'b':
      return std::string(month.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'a':
      return std::string(day.substr(0, 3));
    case 'F':
      return cat(padded(t.year, 4), "-", padded(t.month, 2), "-", padded(t.day, 2));
    case 'T':
      return cat(padded(t.hour, 2), ":", padded(t.minute, 2), ":", padded(t.second, 2));
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

Result<Value> call_strftime_now(Args arguments, Budget& budget) {
  RILL_RETURN_IF_ERROR(arguments.expect(1, {}));
  RILL_ASSIGN_OR_RETURN(const std::string format, arguments.get_text(0, "", ""));
  const DateTime& now = budget.now();
  if (now.month < 1 || now.month > 12 || now.day < 1 || now.day > 31 || now.year < 1) {
    return argument_error("strftime_now: the request's clock is no date");
  }
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const bool no_padding = i + 1 < format.size() && format[i + 1] == '-';
    const size_t at = i + (no_padding ? 2 : 1);
    const std::optional<std::string> text = directive(at < format.size() ? format[at] : '\0', now);
    if (!text)
      return argument_error(cat("strftime_now: unknown directive in \"", printable(format), "\""));
    const size_t zeros = no_padding ? std::min(text->find_first_not_of('0'), text->size() - 1) : 0;
    out += text->substr(zeros);
    i = at;
  }
  return Value::string(std::move(out));
}

constexpr Function kFunctions[] = {{"range", call_range},
                                   {"namespace", call_namespace},
                                   {"dict", call_dict},
                                   {"raise_exception", call_raise_exception},
                                   {"strftime_now", call_strftime_now}};

}  // namespace

bool is_known_function(std::string_view name) {
  return std::any_of(std::begin(kFunctions), std::end(kFunctions),
                     [name](const Function& f) { return f.name == name; });
}

Result<Value> call_function(std::string_view name, const Arguments& arguments, Budget& budget) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return function.call(arguments, budget);
  }
  return argument_error(cat("there is no function \"", printable(name), "\""));
}

}  // namespace rill::text::jinja
