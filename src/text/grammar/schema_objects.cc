// SPDX-License-Identifier: Apache-2.0
// SchemaExprs::Compiler's objects and arrays.
#include <algorithm>

#include "base/str_cat.h"
#include "text/grammar/schema_compiler.h"

namespace rill::text::grammar {

Status SchemaExprs::Compiler::add_properties(const SchemaKeyword& keyword, ObjectShape& shape) {
  if (!keyword.value->is_object()) {
    return schema_error(ErrorCode::kInvalidArgument, keyword.path, "expected an object of schemas");
  }
  std::map<std::string_view, size_t> known;
  for (size_t i = 0; i < shape.properties.size(); ++i) known[shape.properties[i].name] = i;
  std::vector<Property> added;
  for (const auto& [name, schema] : keyword.value->members()) {
    const auto at = known.find(name);
    const std::string path = schema_path(keyword.path, name);
    if (at == known.end()) {
      added.push_back({name, {{&schema, path}}, false});
    } else if (!same_json(*shape.properties[at->second].schemas[0].first, schema)) {
      shape.properties[at->second].schemas.emplace_back(&schema, path);
    }
  }
  for (Property& property : added) shape.properties.push_back(std::move(property));
  return {};
}

Status SchemaExprs::Compiler::add_required(const SchemaKeyword& keyword, ObjectShape& shape) {
  if (!keyword.value->is_array())
    return schema_error(ErrorCode::kInvalidArgument, keyword.path, "expected an array of names");
  std::map<std::string, size_t, std::less<>> known;
  for (size_t i = 0; i < shape.properties.size(); ++i) known[shape.properties[i].name] = i;
  for (const Json& name : keyword.value->items()) {
    if (!name.is_string())
      return schema_error(ErrorCode::kInvalidArgument, keyword.path, "expected an array of names");
    const auto [at, is_new] = known.emplace(name.as_string(), shape.properties.size());
    if (!is_new) {
      shape.properties[at->second].is_required = true;
      continue;
    }
    const Json* additional = shape.additional;
    if (additional != nullptr && additional->is_bool() && !additional->as_bool()) {
      return schema_error(
          ErrorCode::kInvalidArgument, keyword.path,
          cat("requires ", printable(name.as_string()), ", which additionalProperties forbids"));
    }
    Property property{name.as_string(), {}, true};
    if (additional != nullptr) property.schemas.emplace_back(additional, shape.additional_path);
    shape.properties.push_back(std::move(property));
  }
  return {};
}

Result<SchemaExprs::Compiler::ObjectShape> SchemaExprs::Compiler::shape_of(
    const SchemaKeywords& keywords) {
  ObjectShape shape;
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* additional, keywords.find("additionalProperties"));
  const auto declarations = keywords.all("properties");
  shape.is_declared = !declarations.empty();
  if (additional != nullptr) {
    shape.additional = additional->value;
    shape.additional_path = additional->path;
    const bool is_true = additional->value->is_bool() && additional->value->as_bool();
    if (!is_true && declarations.size() > 1) {
      return schema_error(ErrorCode::kUnsupported, additional->path,
                          "stands beside properties of another part of an allOf");
    }
  }
  for (const SchemaKeyword* keyword : declarations)
    RILL_RETURN_IF_ERROR(add_properties(*keyword, shape));
  for (const SchemaKeyword* keyword : keywords.all("required"))
    RILL_RETURN_IF_ERROR(add_required(*keyword, shape));
  return shape;
}

Result<ExprId> SchemaExprs::Compiler::property_value(const Property& property) {
  if (property.schemas.empty()) return values_.any_value();
  if (property.schemas.size() == 1)
    return compile(*property.schemas[0].first, property.schemas[0].second);
  SchemaKeywords all;
  for (const auto& [schema, path] : property.schemas)
    RILL_RETURN_IF_ERROR(all.add(document_, *schema, path));
  const std::string& path = property.schemas[0].second;
  if (nesting_ >= kMaxNesting)
    return schema_error(ErrorCode::kUnsupported, path, "too many schemas inside each other");
  ++nesting_;
  Result<ExprId> value = compile_keywords(std::move(all), path);
  --nesting_;
  return value;
}

/// The value of properties that are not declared.
Result<ExprId> SchemaExprs::Compiler::other_value(const ObjectShape& shape) {
  if (shape.additional == nullptr)
    return shape.is_declared ? grammar_.nothing() : values_.any_value();
  return compile(*shape.additional, shape.additional_path);
}

Status SchemaExprs::Compiler::check_property_counts(const SchemaKeywords& keywords,
                                                    const ObjectShape& shape, uint32_t min,
                                                    uint32_t max) {
  const auto required = static_cast<size_t>(
      std::count_if(shape.properties.begin(), shape.properties.end(),
                    [](const Property& property) { return property.is_required; }));
  const bool is_closed = shape.additional == nullptr
                             ? shape.is_declared
                             : shape.additional->is_bool() && !shape.additional->as_bool();
  if (min > required) {
    return schema_error(ErrorCode::kUnsupported, keywords.all("minProperties")[0]->path,
                        "more than the required properties");
  }
  if (max != kUnlimited && (!is_closed || max < shape.properties.size())) {
    return schema_error(ErrorCode::kUnsupported, keywords.all("maxProperties")[0]->path,
                        "fewer than the declared properties");
  }
  return {};
}

Result<ExprId> SchemaExprs::Compiler::compile_object(const SchemaKeywords& keywords) {
  RILL_ASSIGN_OR_RETURN(const ObjectShape shape, shape_of(keywords));
  RILL_ASSIGN_OR_RETURN(const std::optional<uint32_t> min, keywords.count("minProperties"));
  RILL_ASSIGN_OR_RETURN(const std::optional<uint32_t> max, keywords.count("maxProperties"));
  if (shape.properties.empty()) {
    RILL_ASSIGN_OR_RETURN(const ExprId value, other_value(shape));
    return values_.object_of(value, min.value_or(0), max.value_or(kUnlimited));
  }
  RILL_RETURN_IF_ERROR(
      check_property_counts(keywords, shape, min.value_or(0), max.value_or(kUnlimited)));
  std::vector<MemberExpr> members;
  std::vector<std::string> names;
  for (const Property& property : shape.properties) {
    RILL_ASSIGN_OR_RETURN(const ExprId value, property_value(property));
    members.push_back({values_.member(property.name, value), property.is_required});
    names.push_back(property.name);
  }
  ExprId other = grammar_.nothing();
  const bool is_open = shape.additional != nullptr
                           ? !shape.additional->is_bool() || shape.additional->as_bool()
                           : !shape.is_declared;
  if (is_open) {
    RILL_ASSIGN_OR_RETURN(const ExprId value, other_value(shape));
    Result<ExprId> member = values_.other_member(std::move(names), value);
    if (!member) {
      return schema_error(member.error().code, shape.additional_path, member.error().message);
    }
    other = *member;
  }
  return grammar_.sequence(
      {grammar_.byte('{'), values_.members(members, other), grammar_.byte('}')});
}

namespace {

bool is_argument_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace

Result<ExprId> SchemaExprs::Compiler::arguments(const Json& schema, const std::string& path) {
  SchemaKeywords keywords;
  RILL_RETURN_IF_ERROR(keywords.add(document_, schema, path));
  for (const SchemaKeyword& keyword : keywords.list()) {
    const bool is_plain = keyword.name == "type" || keyword.name == "properties" ||
                          keyword.name == "required" || keyword.name == "additionalProperties";
    if (!is_plain)
      return schema_error(ErrorCode::kUnsupported, keyword.path, "not for a tool's parameters");
  }
  RILL_ASSIGN_OR_RETURN(const unsigned types, keywords.types());
  if (types != 0 && (types & kTypeObject) == 0)
    return schema_error(ErrorCode::kInvalidArgument, path, "expected the type object");
  RILL_ASSIGN_OR_RETURN(const ObjectShape shape, shape_of(keywords));
  std::vector<MemberExpr> members;
  for (const Property& property : shape.properties) {
    if (!is_argument_name(property.name)) {
      return schema_error(
          ErrorCode::kInvalidArgument, schema_path(path, "properties"),
          cat("got the name ", printable(property.name), ", expected letters, digits, _ and -"));
    }
    RILL_ASSIGN_OR_RETURN(const ExprId value, property_value(property));
    members.push_back(
        {grammar_.sequence({grammar_.literal(property.name + "="), value}), property.is_required});
  }
  RILL_RETURN_IF_ERROR(run_pending());
  return values_.members(members, grammar_.nothing());
}

Result<ExprId> SchemaExprs::Compiler::compile_array(const SchemaKeywords& keywords,
                                                    const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* items, keywords.find("items"));
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* prefix, keywords.find("prefixItems"));
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* unique, keywords.find("uniqueItems"));
  RILL_ASSIGN_OR_RETURN(const std::optional<uint32_t> min_items, keywords.count("minItems"));
  RILL_ASSIGN_OR_RETURN(const std::optional<uint32_t> max_items, keywords.count("maxItems"));
  const uint32_t min = min_items.value_or(0);
  const uint32_t max = max_items.value_or(kUnlimited);
  if (min > max) {
    return schema_error(ErrorCode::kInvalidArgument, schema_path(path, "minItems"),
                        "more than maxItems");
  }
  if (unique != nullptr && max > 1 && !(unique->value->is_bool() && !unique->value->as_bool()))
    return schema_error(ErrorCode::kUnsupported, unique->path, "unsupported keyword");
  ExprId item = 0;
  if (items == nullptr) {
    item = values_.any_value();
  } else if (items->value->is_array()) {
    return schema_error(ErrorCode::kUnsupported, items->path,
                        "got an array; use prefixItems for tuples");
  } else {
    RILL_ASSIGN_OR_RETURN(item, compile(*items->value, items->path));
  }
  if (prefix == nullptr) return values_.list_of(item, min, max);
  return compile_tuple(*prefix, item, min, max);
}

Result<ExprId> SchemaExprs::Compiler::compile_tuple(const SchemaKeyword& prefix, ExprId item,
                                                    uint32_t min, uint32_t max) {
  if (!prefix.value->is_array())
    return schema_error(ErrorCode::kInvalidArgument, prefix.path, "expected an array of schemas");
  const Json::Array& schemas = prefix.value->items();
  std::vector<ExprId> parts;
  for (size_t i = 0; i < schemas.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(const ExprId part, compile(schemas[i], schema_path(prefix.path, cat(i))));
    parts.push_back(part);
  }
  const auto count = static_cast<uint32_t>(parts.size());
  if (count == 0) return values_.list_of(item, min, max);
  // From the last item to the first: what may come from it on.
  ExprId tail = grammar_.empty();
  if (max > count) {
    tail = grammar_.repeat(grammar_.sequence({values_.comma(), item}),
                           min > count ? min - count : 0, max == kUnlimited ? max : max - count);
  }
  for (uint32_t i = count; i-- > 0;) {
    if (i >= max) continue;
    tail = i == 0 ? grammar_.sequence({parts[0], tail})
                  : grammar_.sequence({values_.comma(), parts[i], tail});
    if (i >= min) tail = grammar_.optional(tail);
  }
  return grammar_.sequence({grammar_.byte('['), tail, grammar_.byte(']')});
}

}  // namespace rill::text::grammar
