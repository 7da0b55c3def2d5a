// SPDX-License-Identifier: Apache-2.0
// The interpreter's class: statements are in interpreter.cc, expressions in evaluate.cc. Internal.
#pragma once

#include <string>
#include <vector>

#include "text/jinja/interpreter.h"

namespace rill::text::jinja {

class Interpreter {
 public:
  Interpreter(const DateTime& now, const Limits& limits)
      : limits_(limits), budget_(limits.max_bytes, now) {}

  /// What a statement list ended with.
  enum class Flow { kNext, kBreak, kContinue };

  Result<Flow> execute(const std::vector<Statement>& statements, Scope& scope, std::string& out);

 private:
  static constexpr size_t kMaxDepth = 400;
  static constexpr size_t kMaxValueDepth = 200;

  /// Counts a step and a level of recursion; the level ends with the object.
  class Level {
   public:
    explicit Level(Interpreter& interpreter) : interpreter_(interpreter) { ++interpreter_.depth_; }
    ~Level() { --interpreter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Interpreter& interpreter_;
  };

  Status step(size_t line);
  Result<Flow> execute_one(const Statement& statement, Scope& scope, std::string& out);
  Result<Flow> execute_for(const Statement& statement, Scope& scope, std::string& out);
  Status print(const Statement& statement, Scope& scope, std::string& out);
  Status assign(const Statement& statement, Scope& scope);
  Status assign_member(const Statement& statement, const Value& value, Scope& scope);
  Status bind_targets(const std::vector<std::string>& targets, const Value& value, Scope& scope);
  Result<std::vector<Value>> loop_items(const Statement& statement, Scope& scope);

  Result<Value> evaluate(const Expression& node, Scope& scope);
  Result<Value> evaluate_node(const Expression& node, Scope& scope);
  Result<Value> evaluate_name(const Expression& node, Scope& scope);
  Result<Value> evaluate_list(const Expression& node, Scope& scope);
  Result<Value> evaluate_dict(const Expression& node, Scope& scope);
  Result<Value> evaluate_binary(const Expression& node, Scope& scope);
  Result<Value> evaluate_compare(const Expression& node, Scope& scope);
  Result<Value> evaluate_condition(const Expression& node, Scope& scope);
  Result<Value> evaluate_slice(const Expression& node, Scope& scope);
  Result<Value> evaluate_call(const Expression& node, Scope& scope);
  Result<Value> call_macro(const Macro& macro, const Arguments& arguments);
  Result<Arguments> evaluate_arguments(const Expression& node, Scope& scope);
  Status check_no_handles(const Arguments& arguments) const;
  Status check_storable(const Value& value) const;

  Limits limits_;
  Budget budget_;
  size_t steps_ = 0;
  size_t depth_ = 0;
};

}  // namespace rill::text::jinja
