// SPDX-License-Identifier: Apache-2.0
#include "tasks/reply_rule.h"

#include <optional>
#include <string>
#include <utility>

#include "base/str_cat.h"
#include "tasks/grammar_constraint.h"

namespace rill::tasks {
namespace {

class ResponseRuleFactory final : public ReplyRuleFactory {
 public:
  ResponseRuleFactory(const GrammarConstraints& constraints, ResponseRule rule)
      : constraints_(&constraints), rule_(std::move(rule)) {}

  [[nodiscard]] ConstraintResult make() const override {
    switch (rule_.kind) {
      case ResponseRule::Kind::kJsonSchema:
        return constraints_->json_schema(rule_.text);
      case ResponseRule::Kind::kRegex:
        return constraints_->regex(rule_.text);
      case ResponseRule::Kind::kGrammar:
        return constraints_->gbnf(rule_.text);
      case ResponseRule::Kind::kJsonObject:
      case ResponseRule::Kind::kNone:
        break;
    }
    return constraints_->json_object();
  }

 private:
  const GrammarConstraints* constraints_;
  ResponseRule rule_;
};

class ToolCallRuleFactory final : public ReplyRuleFactory {
 public:
  ToolCallRuleFactory(const GrammarConstraints& constraints, std::string tools, std::string tool)
      : constraints_(&constraints), tools_(std::move(tools)), tool_(std::move(tool)) {}

  [[nodiscard]] ConstraintResult make() const override {
    text::grammar::ToolCallGrammarOptions options;
    options.tool = tool_;
    return constraints_->tool_calls(tools_, options);
  }

 private:
  const GrammarConstraints* constraints_;
  std::string tools_;
  std::string tool_;
};

/// The tool that must be called; "" for any. Nothing: no call is asked for.
std::optional<std::string> forced_tool(const TextOptions& options) {
  const std::string& choice = options.tool_choice;
  if (choice == "auto" || choice == "none") return std::nullopt;
  if (choice == "required") return std::string();
  constexpr std::string_view kPrefix = "function:";
  return choice.starts_with(kPrefix) ? choice.substr(kPrefix.size()) : choice;
}

}  // namespace

Result<std::shared_ptr<const ReplyRuleFactory>> make_reply_rule(const TextModel& model,
                                                                const TextOptions& options,
                                                                const Json& tools) {
  using Factory = std::shared_ptr<const ReplyRuleFactory>;
  const auto tool = forced_tool(options);
  const bool has_format = options.response.kind != ResponseRule::Kind::kNone;
  if (!tool && !has_format) return Factory();
  if (tool && has_format) {
    return Error{ErrorCode::kInvalidArgument,
                 "tool_choice: a call is asked for, but response_format asks for an answer"};
  }
  if (tool && (!tools.is_array() || tools.items().empty())) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("tool_choice: got '", printable(options.tool_choice), "', but no tools")};
  }
  RILL_ASSIGN_OR_RETURN(const GrammarConstraints* constraints, model.constraints());
  if (tool)
    return Factory(std::make_shared<ToolCallRuleFactory>(*constraints, tools.dump(), *tool));
  return Factory(std::make_shared<ResponseRuleFactory>(*constraints, options.response));
}

}  // namespace rill::tasks
