// SPDX-License-Identifier: Apache-2.0
// is_valid: JSON schema for the tests, written from the specification and apart from the grammars.
#include <algorithm>
#include <cmath>
#include <regex>

#include "base/utf8.h"
#include "unit/text/grammar_support.h"

namespace rill::text::grammar::test {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_bool();
  if (type == "integer")
    return value.is_number() && std::floor(value.as_double()) == value.as_double();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  return a.dump() == b.dump();
}

const Json& target_of(const std::string& reference, const Json& root) {
  const Json* at = &root;
  size_t begin = 2;
  while (reference.size() > 1 && begin <= reference.size()) {
    const size_t end = std::min(reference.find('/', begin), reference.size());
    std::string step = reference.substr(begin, end - begin);
    const size_t slash = step.find("~1");
    if (slash != std::string::npos) step.replace(slash, 2, "/");
    at = at->find(step);
    begin = end + 1;
  }
  return *at;
}

double number_of(const Json& schema, const char* name, double otherwise) {
  const Json* json = schema.find(name);
  return json == nullptr || !json->is_number() ? otherwise : json->as_double();
}

bool are_items_valid(const Json& value, const Json& schema, const Json& root) {
  const auto count = static_cast<double>(value.items().size());
  if (count < number_of(schema, "minItems", 0) || count > number_of(schema, "maxItems", 1e9))
    return false;
  const Json* prefix = schema.find("prefixItems");
  const size_t named = prefix == nullptr ? 0 : prefix->items().size();
  for (size_t i = 0; i < value.items().size(); ++i) {
    const Json* item = i < named ? &prefix->items()[i] : schema.find("items");
    if (item != nullptr && !is_valid(value.items()[i], *item, root)) return false;
  }
  return true;
}

bool are_members_valid(const Json& value, const Json& schema, const Json& root) {
  const Json* required = schema.find("required");
  if (required != nullptr) {
    for (const Json& name : required->items()) {
      if (value.find(name.as_string()) == nullptr) return false;
    }
  }
  const Json* properties = schema.find("properties");
  const Json* additional = schema.find("additionalProperties");
  for (const auto& [name, member] : value.members()) {
    const Json* declared = properties == nullptr ? nullptr : properties->find(name);
    const Json* rule = declared != nullptr ? declared : additional;
    if (rule != nullptr && !is_valid(member, *rule, root)) return false;
  }
  return true;
}

bool is_string_valid(const Json& value, const Json& schema) {
  const std::string& text = value.as_string();
  const auto length = static_cast<double>(count_code_points(text));
  if (length < number_of(schema, "minLength", 0) || length > number_of(schema, "maxLength", 1e9))
    return false;
  const Json* pattern = schema.find("pattern");
  return pattern == nullptr || std::regex_search(text, std::regex(pattern->as_string()));
}

bool is_number_valid(const Json& value, const Json& schema) {
  const double number = value.as_double();
  return number >= number_of(schema, "minimum", -1e300) &&
         number <= number_of(schema, "maximum", 1e300) &&
         number > number_of(schema, "exclusiveMinimum", -1e300) &&
         number < number_of(schema, "exclusiveMaximum", 1e300);
}

}  // namespace

bool is_valid(const Json& value, const Json& schema, const Json& root) {
  if (schema.is_bool()) return schema.as_bool();
  if (schema.find("nullable") != nullptr && value.is_null()) return true;
  const auto any_of = [&](const Json& list, const auto& test) {
    return std::any_of(list.items().begin(), list.items().end(), test);
  };
  if (const Json* reference = schema.find("$ref"))
    return is_valid(value, target_of(reference->as_string(), root), root);
  if (const Json* constant = schema.find("const"); constant != nullptr && !same(value, *constant))
    return false;
  if (const Json* values = schema.find("enum")) {
    if (!any_of(*values, [&](const Json& one) { return same(one, value); })) return false;
  }
  if (const Json* type = schema.find("type")) {
    const Json::Array types = type->is_array() ? type->items() : Json::Array{*type};
    if (std::none_of(types.begin(), types.end(),
                     [&](const Json& one) { return has_type(value, one.as_string()); }))
      return false;
  }
  for (const char* name : {"anyOf", "oneOf"}) {
    const Json* list = schema.find(name);
    if (list != nullptr &&
        !any_of(*list, [&](const Json& one) { return is_valid(value, one, root); }))
      return false;
  }
  if (const Json* all = schema.find("allOf")) {
    if (any_of(*all, [&](const Json& one) { return !is_valid(value, one, root); })) return false;
  }
  if (value.is_array()) return are_items_valid(value, schema, root);
  if (value.is_object()) return are_members_valid(value, schema, root);
  if (value.is_string()) return is_string_valid(value, schema);
  return !value.is_number() || is_number_valid(value, schema);
}

}  // namespace rill::text::grammar::test
