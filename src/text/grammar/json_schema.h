// SPDX-License-Identifier: Apache-2.0
// JSON schemas as grammars. Every text of the grammar is valid under the schema; not every valid
// text is in the grammar: white space is fixed (json_values.h), properties come in the order of the
// schema, undeclared ones only where additionalProperties asks for them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_values.h"

namespace rill::text::grammar {

/// The grammar of a schema. docs/structured-output.md lists the keywords.
/// Errors: kInvalidFormat (no JSON), kUnsupported and kInvalidArgument with the JSON pointer of the
/// keyword ("json schema: #/properties/age/multipleOf: ...").
Result<Grammar> json_schema_grammar(std::string_view schema_json);

/// The grammar of JSON objects of any content, ValueGrammar::kFreeLevels deep.
Result<Grammar> json_object_grammar();

/// A schema in a grammar that has more to it. `root` is what "#" refers to, `schema` a part of it
/// and `path` that part's pointer. Errors: those of json_schema_grammar() but kInvalidFormat.
class SchemaExprs {
 public:
  /// Lifetime: all three outlive this.
  SchemaExprs(const Json& root, std::string root_path, Grammar& grammar, Dialect dialect);
  SchemaExprs(const SchemaExprs&) = delete;
  SchemaExprs& operator=(const SchemaExprs&) = delete;
  ~SchemaExprs();

  Result<ExprId> value(const Json& schema, const std::string& path);
  /// The arguments of a call: "name=value, name=value", by the properties of an object schema.
  Result<ExprId> arguments(const Json& schema, const std::string& path);

 private:
  class Compiler;
  std::unique_ptr<Compiler> compiler_;
};

}  // namespace rill::text::grammar
