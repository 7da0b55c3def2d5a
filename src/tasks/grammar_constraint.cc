// SPDX-License-Identifier: Apache-2.0
#include "tasks/grammar_constraint.h"

#include <utility>

#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"
#include "text/grammar/token_matcher.h"

namespace rill::tasks {
namespace {

class GrammarConstraint final : public session::TokenConstraint {
 public:
  explicit GrammarConstraint(text::grammar::TokenMatcher matcher) : matcher_(std::move(matcher)) {}

  Status allowed(std::span<uint64_t> words) override { return matcher_.allowed(words); }
  Status accept(int32_t token) override { return matcher_.accept(token); }

 private:
  text::grammar::TokenMatcher matcher_;
};

}  // namespace

Result<GrammarConstraints> GrammarConstraints::create(const text::Tokenizer& tokenizer,
                                                      std::vector<int32_t> stop_ids) {
  if (stop_ids.empty())
    return Error{ErrorCode::kInvalidArgument, "grammar: got no stop id, expected at least one"};
  for (const int32_t id : stop_ids) {
    if (id >= 0 && static_cast<size_t>(id) < tokenizer.vocab_size()) continue;
    return Error{ErrorCode::kInvalidArgument, "grammar: a stop id is no token of the vocabulary"};
  }
  return GrammarConstraints(text::grammar::TokenTrie::create(tokenizer), std::move(stop_ids));
}

ConstraintResult GrammarConstraints::make(Result<text::grammar::Grammar> grammar) const {
  if (!grammar) return std::move(grammar).error();
  auto shared = std::make_shared<const text::grammar::Grammar>(*std::move(grammar));
  RILL_ASSIGN_OR_RETURN(text::grammar::TokenMatcher matcher,
                        text::grammar::TokenMatcher::create(std::move(shared), trie_, stop_ids_));
  return std::unique_ptr<session::TokenConstraint>(
      std::make_unique<GrammarConstraint>(std::move(matcher)));
}

ConstraintResult GrammarConstraints::json_schema(std::string_view schema_json) const {
  return make(text::grammar::json_schema_grammar(schema_json));
}

ConstraintResult GrammarConstraints::json_object() const {
  return make(text::grammar::json_object_grammar());
}

ConstraintResult GrammarConstraints::regex(std::string_view pattern) const {
  return make(text::grammar::regex_grammar(pattern));
}

ConstraintResult GrammarConstraints::gbnf(std::string_view grammar) const {
  return make(text::grammar::gbnf_grammar(grammar));
}

ConstraintResult GrammarConstraints::tool_calls(
    std::string_view tools_json, const text::grammar::ToolCallGrammarOptions& options) const {
  return make(text::grammar::tool_call_grammar(tools_json, options));
}

}  // namespace rill::tasks
