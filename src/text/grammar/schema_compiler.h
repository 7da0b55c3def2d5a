// SPDX-License-Identifier: Apache-2.0
// SchemaExprs::Compiler: JSON schemas to expressions, one function for each type of value.
// References become rules. One that leads to itself is written out kMaxRecursion levels deep, so
// that values have bounded depth and there is always a way out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/json_schema.h"
#include "text/grammar/number_range.h"
#include "text/grammar/schema_keywords.h"

namespace rill::text::grammar {

class SchemaExprs::Compiler {
 public:
  static constexpr unsigned kMaxRecursion = 24;

  Compiler(const Json& root, std::string root_path, Grammar& grammar, Dialect dialect)
      : document_(root, std::move(root_path)), grammar_(grammar), values_(grammar, dialect) {}

  Result<ExprId> value(const Json& schema, const std::string& path);
  Result<ExprId> arguments(const Json& schema, const std::string& path);

 private:
  static constexpr size_t kMaxNesting = 200;  // of schemas inside each other
  static constexpr size_t kMaxTargets = 512;  // of references

  struct Pending {
    RuleId rule;
    const Json* target;
    std::string path;
    unsigned level;
  };
  struct Property {
    std::string name;
    std::vector<std::pair<const Json*, std::string>> schemas;  // all of them hold
    bool is_required = false;
  };
  struct ObjectShape {
    std::vector<Property> properties;
    bool is_declared = false;          // "properties" came
    const Json* additional = nullptr;  // nullptr: it does not say
    std::string additional_path;
  };
  using Bounds = std::pair<std::optional<NumberBound>, std::optional<NumberBound>>;

  Status run_pending();
  Result<ExprId> compile(const Json& schema, const std::string& path);
  Result<ExprId> compile_keywords(SchemaKeywords keywords, const std::string& path);
  Result<ExprId> compile_alternatives(SchemaKeywords keywords);
  Result<ExprId> compile_constants(const SchemaKeywords& keywords);
  Result<ExprId> compile_types(const SchemaKeywords& keywords, unsigned types,
                               const std::string& path);
  Result<ExprId> compile_object(const SchemaKeywords& keywords);
  Result<ExprId> compile_array(const SchemaKeywords& keywords, const std::string& path);
  Result<ExprId> compile_tuple(const SchemaKeyword& prefix, ExprId item, uint32_t min,
                               uint32_t max);
  Result<ExprId> compile_string(const SchemaKeywords& keywords, const std::string& path);
  Result<ExprId> compile_pattern(const std::string& pattern, uint32_t min, uint32_t max,
                                 const std::string& path);
  Result<ExprId> compile_number(const SchemaKeywords& keywords, bool is_integer,
                                const std::string& path);
  Result<ExprId> reference(const Json& reference, const std::string& path);

  Result<ObjectShape> shape_of(const SchemaKeywords& keywords);
  Status add_properties(const SchemaKeyword& keyword, ObjectShape& shape);
  Status add_required(const SchemaKeyword& keyword, ObjectShape& shape);
  Result<ExprId> property_value(const Property& property);
  Result<ExprId> other_value(const ObjectShape& shape);
  Status check_property_counts(const SchemaKeywords& keywords, const ObjectShape& shape,
                               uint32_t min, uint32_t max);
  Result<Bounds> bounds_of(const SchemaKeywords& keywords);

  Result<bool> is_recursive(const Json* target, const std::string& path);
  const std::set<const Json*>& targets_in(const Json* schema);

  SchemaDocument document_;
  Grammar& grammar_;
  ValueGrammar values_;
  unsigned level_ = 0;  // recursive references around the current schema
  size_t nesting_ = 0;
  std::vector<Pending> pending_;
  std::map<std::pair<const Json*, unsigned>, RuleId> rules_;
  std::map<const Json*, std::set<const Json*>> targets_;
  std::map<const Json*, bool> recursive_;
};

}  // namespace rill::text::grammar
