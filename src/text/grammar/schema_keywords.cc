// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/str_cat.h"

namespace rill::text::grammar {
namespace {

constexpr size_t kMaxSchemas = 1000;   // in one allOf, with those inside
constexpr size_t kMaxKeywords = 2000;  // of one schema
constexpr size_t kMaxComparisons = 4096;
constexpr size_t kMaxReferences = 64;  // that are followed one after the other

// Say nothing about what is valid.
constexpr std::array<std::string_view, 17> kAnnotations = {
    "title",         "description", "default",   "examples",        "example",
    "$schema",       "$id",         "$comment",  "$defs",           "definitions",
    "deprecated",    "readOnly",    "writeOnly", "contentEncoding", "contentMediaType",
    "discriminator", "$anchor"};

constexpr std::array<std::string_view, 26> kKeywords = {"type",
                                                        "properties",
                                                        "required",
                                                        "additionalProperties",
                                                        "minProperties",
                                                        "maxProperties",
                                                        "enum",
                                                        "const",
                                                        "anyOf",
                                                        "oneOf",
                                                        "allOf",
                                                        "$ref",
                                                        "items",
                                                        "prefixItems",
                                                        "minItems",
                                                        "maxItems",
                                                        "uniqueItems",
                                                        "minLength",
                                                        "maxLength",
                                                        "pattern",
                                                        "format",
                                                        "minimum",
                                                        "maximum",
                                                        "exclusiveMinimum",
                                                        "exclusiveMaximum",
                                                        "nullable"};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<std::string> decoded_step(std::string_view step) {
  std::string out;
  for (size_t i = 0; i < step.size(); ++i) {
    if (step[i] == '~' && i + 1 < step.size()) {
      out += step[++i] == '1' ? '/' : '~';
    } else if (step[i] == '%' && i + 2 < step.size()) {
      const auto digit = [&](char c) {
        const char lower = static_cast<char>(c | 0x20);
        return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 0;
      };
      out += static_cast<char>(digit(step[i + 1]) * 16 + digit(step[i + 2]));
      i += 2;
    } else {
      out += step[i];
    }
  }
  return out;
}

const Json* child(const Json& parent, const std::string& step) {
  if (!parent.is_array()) return parent.find(step);
  size_t index = 0;
  if (step.empty() || step.size() > 6) return nullptr;
  for (const char c : step) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index < parent.items().size() ? &parent.items()[index] : nullptr;
}

unsigned type_named(std::string_view name) {
  if (name == "null") return kTypeNull;
  if (name == "boolean") return kTypeBoolean;
  if (name == "integer") return kTypeInteger;
  if (name == "number") return kTypeInteger | kTypeNumber;
  if (name == "string") return kTypeString;
  if (name == "array") return kTypeArray;
  if (name == "object") return kTypeObject;
  return 0;
}

}  // namespace

Error schema_error(ErrorCode code, const std::string& path, const std::string& message) {
  return {code, cat("json schema: ", printable(path, 300), ": ", message)};
}

std::string schema_path(const std::string& path, std::string_view step) {
  std::string out = path + "/";
  for (const char c : step) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

bool is_schema_annotation(std::string_view keyword) { return is_one_of(keyword, kAnnotations); }

Result<const Json*> SchemaDocument::resolve(const Json& reference, const std::string& path) const {
  if (!reference.is_string())
    return schema_error(ErrorCode::kInvalidArgument, path, "expected a string");
  std::string_view rest = reference.as_string();
  if (rest.empty() || rest[0] != '#' || (rest.size() > 1 && rest[1] != '/')) {
    return schema_error(ErrorCode::kUnsupported, path,
                        cat("got ", printable(rest), ", expected \"#\" or \"#/...\""));
  }
  const Json* at = root_;
  rest.remove_prefix(1);
  while (!rest.empty() && at != nullptr) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    RILL_ASSIGN_OR_RETURN(const std::string step, decoded_step(rest.substr(0, end)));
    at = child(*at, step);
    rest.remove_prefix(end);
  }
  if (at == nullptr) {
    return schema_error(ErrorCode::kInvalidArgument, path,
                        cat("got ", printable(reference.as_string()), ", which does not exist"));
  }
  return at;
}

Status SchemaKeywords::add(const SchemaDocument& document, const Json& schema,
                           const std::string& path, size_t depth) {
  if (depth > kMaxReferences || ++num_schemas_ > kMaxSchemas)
    return schema_error(ErrorCode::kUnsupported, path, "too many references or allOf in a row");
  if (schema.is_bool()) {
    is_nothing_ = is_nothing_ || !schema.as_bool();
    return {};
  }
  if (!schema.is_object())
    return schema_error(ErrorCode::kInvalidArgument, path, "expected an object or a boolean");
  for (const auto& [name, value] : schema.members()) {
    const std::string here = schema_path(path, name);
    if (is_schema_annotation(name)) continue;
    if (!is_one_of(name, kKeywords)) {
      const bool is_one = name == "multipleOf" && value.is_int() && value.as_int() == 1 &&
                          schema.find("type") != nullptr &&
                          same_json(*schema.find("type"), Json::string("integer"));
      if (is_one) continue;
      return schema_error(ErrorCode::kUnsupported, here, "unsupported keyword");
    }
    if (name == "$ref") {
      RILL_ASSIGN_OR_RETURN(const Json* target, document.resolve(value, here));
      RILL_RETURN_IF_ERROR(
          add(document, *target, document.path() + value.as_string().substr(1), depth + 1));
    } else if (name == "allOf") {
      if (!value.is_array() || value.items().empty())
        return schema_error(ErrorCode::kInvalidArgument, here, "expected an array of schemas");
      for (size_t i = 0; i < value.items().size(); ++i)
        RILL_RETURN_IF_ERROR(add(document, value.items()[i], schema_path(here, cat(i)), depth + 1));
    } else {
      list_.push_back({name, &value, here});
    }
    if (list_.size() > kMaxKeywords)
      return schema_error(ErrorCode::kUnsupported, here, "too many keywords in one schema");
  }
  return {};
}

bool SchemaKeywords::has(std::string_view name) const {
  return std::any_of(list_.begin(), list_.end(), [&](const auto& k) { return k.name == name; });
}

Result<const SchemaKeyword*> SchemaKeywords::find(std::string_view name) const {
  const SchemaKeyword* found = nullptr;
  for (const SchemaKeyword& keyword : list_) {
    if (keyword.name != name) continue;
    if (found != nullptr && !same_json(*found->value, *keyword.value)) {
      return schema_error(ErrorCode::kUnsupported, keyword.path,
                          cat("differs from ", printable(found->path, 300)));
    }
    found = &keyword;
  }
  return found;
}

std::vector<const SchemaKeyword*> SchemaKeywords::all(std::string_view name) const {
  std::vector<const SchemaKeyword*> out;
  for (const SchemaKeyword& keyword : list_) {
    if (keyword.name == name) out.push_back(&keyword);
  }
  return out;
}

void SchemaKeywords::remove(std::string_view name) {
  list_.erase(std::remove_if(list_.begin(), list_.end(),
                             [&](const SchemaKeyword& keyword) { return keyword.name == name; }),
              list_.end());
}

Result<std::optional<uint32_t>> SchemaKeywords::count(std::string_view name) const {
  const bool is_least = name.substr(0, 3) == "min";
  std::optional<uint32_t> out;
  for (const SchemaKeyword* keyword : all(name)) {
    const Json& json = *keyword->value;
    const bool is_whole =
        json.is_int() ||
        (json.is_number() && json.as_double() >= 0 && json.as_double() <= 1e9 &&
         json.as_double() == static_cast<double>(static_cast<int64_t>(json.as_double())));
    const int64_t value = !is_whole       ? -1
                          : json.is_int() ? json.as_int()
                                          : static_cast<int64_t>(json.as_double());
    if (value < 0 || value > 1000000000) {
      return schema_error(ErrorCode::kInvalidArgument, keyword->path,
                          "expected an integer from 0 to 1000000000");
    }
    const auto got = static_cast<uint32_t>(value);
    out = !out ? got : is_least ? std::max(*out, got) : std::min(*out, got);
  }
  return out;
}

Result<unsigned> SchemaKeywords::types() const {
  unsigned out = 0;
  for (const SchemaKeyword* keyword : all("type")) {
    unsigned types = 0;
    const Json::Array names =
        keyword->value->is_array() ? keyword->value->items() : Json::Array{*keyword->value};
    for (const Json& name : names) {
      const unsigned type = name.is_string() ? type_named(name.as_string()) : 0;
      if (type == 0)
        return schema_error(ErrorCode::kInvalidArgument, keyword->path, "expected names of types");
      types |= type;
    }
    if (types == 0)
      return schema_error(ErrorCode::kInvalidArgument, keyword->path, "expected names of types");
    if (out != 0 && (out & types) == 0) {
      return schema_error(ErrorCode::kInvalidArgument, keyword->path,
                          "no type is left beside the others of an allOf");
    }
    out = out == 0 ? types : out & types;
  }
  return out;
}

unsigned type_of_json(const Json& value) {
  switch (value.type()) {
    case Json::Type::kNull:
      return kTypeNull;
    case Json::Type::kBool:
      return kTypeBoolean;
    case Json::Type::kInt:
      return kTypeInteger | kTypeNumber;
    case Json::Type::kDouble: {
      const double number = value.as_double();
      const bool is_whole = std::floor(number) == number;
      return is_whole ? kTypeInteger | kTypeNumber : kTypeNumber;
    }
    case Json::Type::kString:
      return kTypeString;
    case Json::Type::kArray:
      return kTypeArray;
    case Json::Type::kObject:
      return kTypeObject;
  }
  return 0;
}

bool same_json(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
    return a.as_double() == b.as_double();
  }
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Json::Type::kBool:
      return a.as_bool() == b.as_bool();
    case Json::Type::kString:
      return a.as_string() == b.as_string();
    case Json::Type::kArray:
      return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                        same_json);
    case Json::Type::kObject: {
      if (a.members().size() != b.members().size()) return false;
      return std::all_of(a.members().begin(), a.members().end(), [&](const auto& member) {
        const Json* other = b.find(member.first);
        return other != nullptr && same_json(member.second, *other);
      });
    }
    default:
      return true;
  }
}

namespace {

/// The schema that references lead to, or nullptr.
const Json* followed(const SchemaDocument& document, const Json* schema) {
  for (size_t i = 0; i < kMaxReferences; ++i) {
    const Json* reference = schema->find("$ref");
    if (reference == nullptr) return schema;
    const Result<const Json*> target = document.resolve(*reference, "");
    if (!target) return nullptr;
    schema = *target;
  }
  return nullptr;
}

/// The values that a schema is limited to; nothing: it is not.
std::optional<Json::Array> constants_of(const Json& schema) {
  if (const Json* value = schema.find("const"); value != nullptr) return Json::Array{*value};
  const Json* values = schema.find("enum");
  if (values == nullptr || !values->is_array()) return std::nullopt;
  return values->items();
}

/// The types that a schema allows; all of them if it does not say.
unsigned allowed_types(const Json& schema) {
  unsigned types = 0;
  if (const auto constants = constants_of(schema)) {
    for (const Json& value : *constants) types |= type_of_json(value);
  } else if (const Json* type = schema.find("type"); type != nullptr) {
    const Json::Array names = type->is_array() ? type->items() : Json::Array{*type};
    for (const Json& name : names) {
      if (name.is_string()) types |= type_named(name.as_string());
    }
    const Json* nullable = schema.find("nullable");
    if (nullable != nullptr && nullable->is_bool() && nullable->as_bool()) types |= kTypeNull;
  } else {
    types = ~0u;
  }
  return types;
}

bool is_required(const Json& schema, const std::string& name) {
  const Json* required = schema.find("required");
  return required != nullptr && required->is_array() &&
         std::any_of(required->items().begin(), required->items().end(), [&](const Json& item) {
           return item.is_string() && item.as_string() == name;
         });
}

bool have_no_common_constant(const Json& a, const Json& b) {
  const auto of_a = constants_of(a);
  const auto of_b = constants_of(b);
  if (!of_a || !of_b || of_a->size() * of_b->size() > kMaxComparisons) return false;
  return std::none_of(of_a->begin(), of_a->end(), [&](const Json& x) {
    return std::any_of(of_b->begin(), of_b->end(), [&](const Json& y) { return same_json(x, y); });
  });
}

}  // namespace

bool are_disjoint(const SchemaDocument& document, const Json& first, const Json& second) {
  const Json* a = followed(document, &first);
  const Json* b = followed(document, &second);
  if (a == nullptr || b == nullptr || !a->is_object() || !b->is_object()) return false;
  if ((allowed_types(*a) & allowed_types(*b)) == 0) return true;
  if (have_no_common_constant(*a, *b)) return true;
  if (allowed_types(*a) != kTypeObject || allowed_types(*b) != kTypeObject) return false;
  const Json* properties = a->find("properties");
  const Json* others = b->find("properties");
  if (properties == nullptr || others == nullptr || !properties->is_object()) return false;
  return std::any_of(properties->members().begin(), properties->members().end(),
                     [&](const auto& member) {
                       const Json* other = others->find(member.first);
                       return other != nullptr && have_no_common_constant(member.second, *other) &&
                              is_required(*a, member.first) && is_required(*b, member.first);
                     });
}

}  // namespace rill::text::grammar
