// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/schema_compiler.h"

#include <algorithm>

#include "base/str_cat.h"

namespace rill::text::grammar {
namespace {

/// The types that keywords speak about: what a schema without "type" is taken to mean.
unsigned implied_types(const SchemaKeywords& keywords) {
  unsigned types = 0;
  for (const SchemaKeyword& keyword : keywords.list()) {
    const std::string_view name = keyword.name;
    if (name == "properties" || name == "required" || name == "additionalProperties" ||
        name == "minProperties" || name == "maxProperties") {
      types |= kTypeObject;
    } else if (name == "items" || name == "prefixItems" || name == "minItems" ||
               name == "maxItems" || name == "uniqueItems") {
      types |= kTypeArray;
    } else if (name == "minLength" || name == "maxLength" || name == "pattern" ||
               name == "format") {
      types |= kTypeString;
    } else if (name == "minimum" || name == "maximum" || name == "exclusiveMinimum" ||
               name == "exclusiveMaximum") {
      types |= kTypeInteger | kTypeNumber;
    }
  }
  return types;
}

}  // namespace

Result<ExprId> SchemaExprs::Compiler::value(const Json& schema, const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const ExprId expr, compile(schema, path));
  RILL_RETURN_IF_ERROR(run_pending());
  return expr;
}

Status SchemaExprs::Compiler::run_pending() {
  while (!pending_.empty() && !grammar_.is_too_large()) {
    const Pending next = std::move(pending_.back());
    pending_.pop_back();
    level_ = next.level;
    RILL_ASSIGN_OR_RETURN(const ExprId body, compile(*next.target, next.path));
    grammar_.set_rule(next.rule, body);
  }
  level_ = 0;
  return {};
}

Result<ExprId> SchemaExprs::Compiler::compile(const Json& schema, const std::string& path) {
  if (nesting_ >= kMaxNesting)
    return schema_error(ErrorCode::kUnsupported, path, "too many schemas inside each other");
  if (grammar_.is_too_large()) return grammar_.empty();
  const Json* reference_keyword = nullptr;
  bool has_others = false;
  if (schema.is_object()) {
    for (const auto& [name, json] : schema.members()) {
      if (name == "$ref") {
        reference_keyword = &json;
      } else if (name != "nullable" && !is_schema_annotation(name)) {
        has_others = true;
      }
    }
  }
  ++nesting_;
  Result<ExprId> expr = grammar_.empty();
  SchemaKeywords keywords;
  if (reference_keyword != nullptr && !has_others) {
    expr = reference(*reference_keyword, schema_path(path, "$ref"));
    const Json* nullable = schema.find("nullable");
    if (expr && nullable != nullptr && nullable->is_bool() && nullable->as_bool())
      expr = grammar_.choice({values_.null(), *expr});
  } else if (const Status status = keywords.add(document_, schema, path); !status) {
    expr = status.error();
  } else {
    expr = compile_keywords(std::move(keywords), path);
  }
  --nesting_;
  return expr;
}

Result<ExprId> SchemaExprs::Compiler::compile_keywords(SchemaKeywords keywords,
                                                       const std::string& path) {
  if (keywords.is_nothing()) return grammar_.nothing();
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* nullable, keywords.find("nullable"));
  if (nullable != nullptr) {
    if (!nullable->value->is_bool())
      return schema_error(ErrorCode::kInvalidArgument, nullable->path, "expected a boolean");
    const bool with_null = nullable->value->as_bool();
    keywords.remove("nullable");
    RILL_ASSIGN_OR_RETURN(const ExprId others, compile_keywords(std::move(keywords), path));
    return with_null ? grammar_.choice({values_.null(), others}) : others;
  }
  if (keywords.has("anyOf") || keywords.has("oneOf"))
    return compile_alternatives(std::move(keywords));
  if (keywords.has("enum") || keywords.has("const")) return compile_constants(keywords);
  RILL_ASSIGN_OR_RETURN(unsigned types, keywords.types());
  if (types == 0) types = implied_types(keywords);
  if (types == 0) return values_.any_value();
  return compile_types(keywords, types, path);
}

/// anyOf and oneOf: each alternative together with what stands beside them.
Result<ExprId> SchemaExprs::Compiler::compile_alternatives(SchemaKeywords keywords) {
  std::vector<const SchemaKeyword*> found = keywords.all("anyOf");
  for (const SchemaKeyword* one : keywords.all("oneOf")) found.push_back(one);
  if (found.size() > 1) {
    return schema_error(ErrorCode::kUnsupported, found[1]->path,
                        cat("stands beside ", printable(found[0]->path, 300)));
  }
  const SchemaKeyword alternatives = *found[0];
  if (!alternatives.value->is_array() || alternatives.value->items().empty()) {
    return schema_error(ErrorCode::kInvalidArgument, alternatives.path,
                        "expected an array of schemas");
  }
  const Json::Array& schemas = alternatives.value->items();
  const size_t most = alternatives.name == "oneOf" ? 64 : 1024;
  if (schemas.size() > most) {
    return schema_error(ErrorCode::kUnsupported, alternatives.path,
                        cat("more than ", most, " alternatives"));
  }
  for (size_t i = 0; alternatives.name == "oneOf" && i < schemas.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (are_disjoint(document_, schemas[i], schemas[j])) continue;
      return schema_error(ErrorCode::kUnsupported, schema_path(alternatives.path, cat(i)),
                          cat("may be valid together with alternative ", j, "; use anyOf"));
    }
  }
  keywords.remove(alternatives.name);
  std::vector<ExprId> options;
  for (size_t i = 0; i < schemas.size(); ++i) {
    const std::string path = schema_path(alternatives.path, cat(i));
    if (keywords.is_empty()) {
      RILL_ASSIGN_OR_RETURN(const ExprId option, compile(schemas[i], path));
      options.push_back(option);
      continue;
    }
    if (nesting_ >= kMaxNesting)
      return schema_error(ErrorCode::kUnsupported, path, "too many schemas inside each other");
    SchemaKeywords both = keywords;
    RILL_RETURN_IF_ERROR(both.add(document_, schemas[i], path));
    ++nesting_;
    Result<ExprId> option = compile_keywords(std::move(both), path);
    --nesting_;
    if (!option) return std::move(option).error();
    options.push_back(*option);
  }
  return grammar_.choice(options);
}

Result<ExprId> SchemaExprs::Compiler::compile_constants(const SchemaKeywords& keywords) {
  for (const SchemaKeyword& keyword : keywords.list()) {
    if (keyword.name != "enum" && keyword.name != "const" && keyword.name != "type")
      return schema_error(ErrorCode::kUnsupported, keyword.path, "stands beside enum or const");
  }
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* constant, keywords.find("const"));
  RILL_ASSIGN_OR_RETURN(const SchemaKeyword* listed, keywords.find("enum"));
  if (listed != nullptr && (!listed->value->is_array() || listed->value->items().empty())) {
    return schema_error(ErrorCode::kInvalidArgument, listed->path, "expected an array with values");
  }
  RILL_ASSIGN_OR_RETURN(const unsigned types, keywords.types());
  const Json::Array values =
      listed != nullptr ? listed->value->items() : Json::Array{*constant->value};
  std::vector<ExprId> options;
  for (const Json& json : values) {
    if (types != 0 && (type_of_json(json) & types) == 0) continue;
    if (constant != nullptr && !same_json(json, *constant->value)) continue;
    options.push_back(values_.value(json));
  }
  return grammar_.choice(options);
}

Result<ExprId> SchemaExprs::Compiler::compile_types(const SchemaKeywords& keywords, unsigned types,
                                                    const std::string& path) {
  std::vector<ExprId> options;
  const auto add = [&](Result<ExprId> expr) -> Status {
    if (!expr) return std::move(expr).error();
    options.push_back(*expr);
    return {};
  };
  if ((types & kTypeObject) != 0) RILL_RETURN_IF_ERROR(add(compile_object(keywords)));
  if ((types & kTypeArray) != 0) RILL_RETURN_IF_ERROR(add(compile_array(keywords, path)));
  if ((types & kTypeString) != 0) RILL_RETURN_IF_ERROR(add(compile_string(keywords, path)));
  if ((types & (kTypeInteger | kTypeNumber)) != 0)
    RILL_RETURN_IF_ERROR(add(compile_number(keywords, (types & kTypeNumber) == 0, path)));
  if ((types & kTypeBoolean) != 0) options.push_back(values_.boolean());
  if ((types & kTypeNull) != 0) options.push_back(values_.null());
  return grammar_.choice(options);
}

Result<ExprId> SchemaExprs::Compiler::reference(const Json& reference, const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const Json* target, document_.resolve(reference, path));
  RILL_ASSIGN_OR_RETURN(const bool recursive, is_recursive(target, path));
  const unsigned level = level_ + (recursive ? 1 : 0);
  if (level > kMaxRecursion) return grammar_.nothing();
  const auto [at, is_new] = rules_.emplace(std::pair(target, level), 0);
  if (is_new) {
    at->second = grammar_.add_rule(reference.as_string());
    pending_.push_back(
        {at->second, target, document_.path() + reference.as_string().substr(1), level});
  }
  return grammar_.rule(at->second);
}

/// What the references anywhere in a schema lead to.
const std::set<const Json*>& SchemaExprs::Compiler::targets_in(const Json* schema) {
  const auto [at, is_new] = targets_.emplace(schema, std::set<const Json*>());
  if (!is_new) return at->second;
  std::vector<const Json*> open{schema};
  while (!open.empty()) {
    const Json* json = open.back();
    open.pop_back();
    if (json->is_array()) {
      for (const Json& item : json->items()) open.push_back(&item);
    } else if (json->is_object()) {
      for (const auto& [name, member] : json->members()) {
        open.push_back(&member);
        if (name != "$ref") continue;
        const Result<const Json*> target = document_.resolve(member, "");
        if (target) at->second.insert(*target);
      }
    }
  }
  return at->second;
}

Result<bool> SchemaExprs::Compiler::is_recursive(const Json* target, const std::string& path) {
  const auto known = recursive_.find(target);
  if (known != recursive_.end()) return known->second;
  if (recursive_.size() >= kMaxTargets) {
    return schema_error(ErrorCode::kUnsupported, path,
                        cat("more than ", kMaxTargets, " different references"));
  }
  std::set<const Json*> reached;
  std::vector<const Json*> open{target};
  while (!open.empty() && !reached.contains(target) && reached.size() <= kMaxTargets) {
    const Json* from = open.back();
    open.pop_back();
    for (const Json* to : targets_in(from)) {
      if (reached.insert(to).second) open.push_back(to);
    }
  }
  return recursive_[target] = reached.contains(target);
}

SchemaExprs::SchemaExprs(const Json& root, std::string root_path, Grammar& grammar, Dialect dialect)
    : compiler_(std::make_unique<Compiler>(root, std::move(root_path), grammar, dialect)) {}
SchemaExprs::~SchemaExprs() = default;

Result<ExprId> SchemaExprs::value(const Json& schema, const std::string& path) {
  return compiler_->value(schema, path);
}

Result<ExprId> SchemaExprs::arguments(const Json& schema, const std::string& path) {
  return compiler_->arguments(schema, path);
}

namespace {

constexpr JsonLimits kSchemaLimits = {
    .max_depth = 128, .max_bytes = size_t{4} << 20, .max_values = size_t{1} << 17};

}  // namespace

Result<Grammar> json_schema_grammar(std::string_view schema_json) {
  Result<Json> schema = parse_json(schema_json, kSchemaLimits);
  if (!schema) return std::move(schema).error().with_context("json schema");
  Grammar grammar;
  SchemaExprs exprs(*schema, "#", grammar, Dialect::kJson);
  RILL_ASSIGN_OR_RETURN(const ExprId root, exprs.value(*schema, "#"));
  const Status finished = grammar.finish(root);
  if (finished) return grammar;
  if (finished.error().code != ErrorCode::kInvalidArgument) return finished.error();
  return schema_error(ErrorCode::kInvalidArgument, "#", "no value is valid");
}

Result<Grammar> json_object_grammar() {
  Grammar grammar;
  ValueGrammar values(grammar, Dialect::kJson);
  RILL_RETURN_IF_ERROR(grammar.finish(values.any_object()));
  return grammar;
}

}  // namespace rill::text::grammar
