// SPDX-License-Identifier: Apache-2.0
// SchemaExprs::Compiler's strings and numbers.
#include <algorithm>
#include <array>

#include "base/str_cat.h"
#include "text/grammar/regex.h"
#include "text/grammar/schema_compiler.h"

namespace rill::text::grammar {
namespace {

struct Format {
  std::string_view name;
  const char* pattern;
};

// Texts of the formats. Leap days and IPv6's short forms are left out: what comes is valid, not all
// that is valid comes.
#define RILL_DATE                                                                                \
  "\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1" \
  "\\d|2[0-8]))"
#define RILL_TIME \
  "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
constexpr std::array<Format, 7> kFormats = {{
    {"date", "^" RILL_DATE "$"},
    {"time", "^" RILL_TIME "$"},
    {"date-time", "^" RILL_DATE "T" RILL_TIME "$"},
    {"uuid", "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
    {"email",
     "^[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,32}){0,4}@([A-Za-z0-9]{1,32}\\.){1,4}[A-Za-z]{2,24}"
     "$"},
    {"ipv4", "^((25[0-5]|(2[0-4]|1\\d|[1-9])?\\d)\\.){3}(25[0-5]|(2[0-4]|1\\d|[1-9])?\\d)$"},
    {"ipv6", "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$"},
}};
#undef RILL_DATE
#undef RILL_TIME

}  // namespace

Result<ExprId> SchemaExprs::Compiler::compile_string(const SchemaKeywords& keywords,
                                                     const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const std::optional<uint32_t> min_length, keywords.count("minLength"));
  RILL_ASSIGN_OR_RETURN(const std::optional<uint32_t> max_length, keywords.count("maxLength"));
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* pattern, keywords.find("pattern"));
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* format, keywords.find("format"));
  const uint32_t min = min_length.value_or(0);
  const uint32_t max = max_length.value_or(kUnlimited);
  if (min > max) {
    return schema_error(ErrorCode::kInvalidArgument, schema_path(path, "minLength"),
                        "more than maxLength");
  }
  for (const SchemaKeyword* keyword : {pattern, format}) {
    if (keyword != nullptr && !keyword->value->is_string())
      return schema_error(ErrorCode::kInvalidArgument, keyword->path, "expected a string");
  }
  if (pattern != nullptr && format != nullptr)
    return schema_error(ErrorCode::kUnsupported, format->path, "stands beside pattern");
  if (pattern != nullptr)
    return compile_pattern(pattern->value->as_string(), min, max, pattern->path);
  if (format == nullptr) return values_.any_string(min, max);
  const auto known = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) {
    return f.name == format->value->as_string();
  });
  if (known == kFormats.end()) {
    return schema_error(ErrorCode::kUnsupported, format->path,
                        cat("got ", printable(format->value->as_string()),
                            ", expected date, time, date-time, uuid, email, ipv4 or ipv6"));
  }
  return compile_pattern(known->pattern, min, max, format->path);
}

/// A pattern with a bound on its length: the pattern must keep it by itself, unless it is a plain
/// repetition, whose counts can be changed.
Result<ExprId> SchemaExprs::Compiler::compile_pattern(const std::string& pattern, uint32_t min,
                                                      uint32_t max, const std::string& path) {
  std::optional<Error> error;
  const ExprId expr = values_.quoted([&](Quoting quoting) {
    Result<RegexExpr> regex = add_regex(pattern, Anchoring::kSearch, quoting, grammar_);
    if (!regex) {
      error = schema_error(regex.error().code, path, regex.error().message);
      return grammar_.nothing();
    }
    if (regex->min_length >= min && regex->max_length <= max) return regex->expr;
    const Expr whole = grammar_.expr(regex->expr);
    if (!regex->repeats_one || whole.kind != Expr::Kind::kRepeat) {
      error = schema_error(ErrorCode::kUnsupported, path,
                           "does not keep minLength and maxLength by itself");
      return grammar_.nothing();
    }
    const uint32_t least = std::max(whole.b, min);
    const uint32_t most = std::min(whole.c, max);
    return least > most ? grammar_.nothing() : grammar_.repeat(whole.a, least, most);
  });
  if (error) return *std::move(error);
  return expr;
}

Result<SchemaExprs::Compiler::Bounds> SchemaExprs::Compiler::bounds_of(
    const SchemaKeywords& keywords) {
  Bounds bounds;
  const auto add = [&](std::string_view name, std::string_view exclusive_name,
                       std::optional<NumberBound>& bound, bool is_minimum) -> Status {
    bool is_exclusive = false;  // older schemas say so with a boolean
    for (const SchemaKeyword* keyword : keywords.all(exclusive_name))
      is_exclusive = is_exclusive || (keyword->value->is_bool() && keyword->value->as_bool());
    for (const std::string_view each : {name, exclusive_name}) {
      for (const SchemaKeyword* keyword : keywords.all(each)) {
        if (each == exclusive_name && keyword->value->is_bool()) continue;
        if (!keyword->value->is_number())
          return schema_error(ErrorCode::kInvalidArgument, keyword->path, "expected a number");
        const auto next = number_bound(*keyword->value, is_exclusive || each == exclusive_name);
        if (!next) return schema_error(ErrorCode::kUnsupported, keyword->path, "too many digits");
        bound = bound ? tighter_bound(*bound, *next, is_minimum) : *next;
      }
    }
    return {};
  };
  RILL_RETURN_IF_ERROR(add("minimum", "exclusiveMinimum", bounds.first, true));
  RILL_RETURN_IF_ERROR(add("maximum", "exclusiveMaximum", bounds.second, false));
  return bounds;
}

Result<ExprId> SchemaExprs::Compiler::compile_number(const SchemaKeywords& keywords,
                                                     bool is_integer, const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const Bounds bounds, bounds_of(keywords));
  if (!bounds.first && !bounds.second) return is_integer ? values_.integer() : values_.number();
  Result<ExprId> range = is_integer ? integer_range(grammar_, bounds.first, bounds.second)
                                    : number_range(grammar_, bounds.first, bounds.second);
  if (!range) return schema_error(range.error().code, path, range.error().message);
  return range;
}

}  // namespace rill::text::grammar
