// SPDX-License-Identifier: Apache-2.0
// GrammarConstraints: makes the rules that a reply's tokens follow (JSON schema, regular
// expression, GBNF grammar, any JSON object, tool calls), for one model. Make one per model and
// keep it: it holds the vocabulary in the form that the rules walk.
//
//   auto constraints = GrammarConstraints::create(tokenizer, stop_ids);
//   auto constraint = constraints->json_schema(R"({"type": "object"})");
//   generator.set_constraint(constraint->get());  // behind the reasoning block
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/token_constraint.h"
#include "text/grammar/token_trie.h"
#include "text/grammar/tool_calls.h"
#include "text/tokenizer.h"

namespace rill::tasks {

using ConstraintResult = Result<std::unique_ptr<session::TokenConstraint>>;

/// Immutable. Threading: any number of threads at once; a constraint belongs to one reply.
/// Lifetime: constraints may outlive this and the tokenizer.
class GrammarConstraints {
 public:
  /// `stop_ids` may come where a reply may end. Cost: a pass over the vocabulary.
  /// Errors: kInvalidArgument (no stop id, or one that is no token of the tokenizer).
  static Result<GrammarConstraints> create(const text::Tokenizer& tokenizer,
                                           std::vector<int32_t> stop_ids);

  /// Replies that are JSON texts of a schema. Errors: kInvalidFormat (no JSON), kInvalidArgument
  /// and kUnsupported, naming the JSON pointer of the keyword ("#/properties/age/multipleOf").
  [[nodiscard]] ConstraintResult json_schema(std::string_view schema_json) const;
  /// Replies that are a JSON object of any content.
  [[nodiscard]] ConstraintResult json_object() const;
  /// Replies that a regular expression matches whole. Errors: kInvalidArgument and kUnsupported,
  /// naming the byte.
  [[nodiscard]] ConstraintResult regex(std::string_view pattern) const;
  /// Replies of a GBNF grammar. Errors: kInvalidArgument and kUnsupported, naming line and column.
  [[nodiscard]] ConstraintResult gbnf(std::string_view grammar) const;
  /// Replies that are calls of the given tools (a JSON array in OpenAI form), with their markers.
  /// Errors: those of json_schema() with the path of the tool, kNotFound (no such tool),
  /// kUnsupported (the tokenizer has no markers).
  [[nodiscard]] ConstraintResult tool_calls(
      std::string_view tools_json, const text::grammar::ToolCallGrammarOptions& options = {}) const;

 private:
  GrammarConstraints(std::shared_ptr<const text::grammar::TokenTrie> trie,
                     std::vector<int32_t> stop_ids)
      : trie_(std::move(trie)), stop_ids_(std::move(stop_ids)) {}

  [[nodiscard]] ConstraintResult make(Result<text::grammar::Grammar> grammar) const;

  std::shared_ptr<const text::grammar::TokenTrie> trie_;
  std::vector<int32_t> stop_ids_;
};

}  // namespace rill::tasks
