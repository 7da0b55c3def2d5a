// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/interpreter.h"

#include "base/str_cat.h"
#include "text/jinja/interpreter_impl.h"
#include "text/jinja/lexer.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {
namespace {

/// Adds the line to an error that has none yet.
Error at_line(Error error, size_t line) {
  if (error.message.rfind("chat template: ", 0) == 0) return error;
  return template_error(error.code, line, error.message);
}

}  // namespace

const Value* Scope::find(std::string_view name) const {
  for (const auto& entry : names) {
    if (entry.first == name) return &entry.second;
  }
  return parent == nullptr ? nullptr : parent->find(name);
}

void Scope::set(const std::string& name, Value value) {
  for (auto& entry : names) {
    if (entry.first == name) {
      entry.second = std::move(value);
      return;
    }
  }
  names.emplace_back(name, std::move(value));
}

Status Interpreter::step(size_t line) {
  if (++steps_ > limits_.max_steps)
    return template_error(ErrorCode::kInvalidArgument, line, "too many steps");
  if (depth_ > kMaxDepth)
    return template_error(ErrorCode::kInvalidArgument, line, "nested too deeply");
  return {};
}

Result<Interpreter::Flow> Interpreter::execute(const std::vector<Statement>& statements,
                                               Scope& scope, std::string& out) {
  const Level level(*this);
  for (const Statement& statement : statements) {
    RILL_RETURN_IF_ERROR(step(statement.line));
    Result<Flow> flow = execute_one(statement, scope, out);
    if (!flow) return at_line(std::move(flow).error(), statement.line);
    if (*flow != Flow::kNext) return flow;
    if (out.size() > limits_.max_output_bytes) {
      return template_error(ErrorCode::kInvalidArgument, statement.line, "the prompt is too long");
    }
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute_one(const Statement& statement, Scope& scope,
                                                   std::string& out) {
  switch (statement.kind) {
    case StatementKind::kText:
      out += statement.text;
      return Flow::kNext;
    case StatementKind::kPrint:
      RILL_RETURN_IF_ERROR(print(statement, scope, out));
      return Flow::kNext;
    case StatementKind::kIf: {
      RILL_ASSIGN_OR_RETURN(const Value condition, evaluate(*statement.expression, scope));
      return execute(condition.truthy() ? statement.body : statement.else_body, scope, out);
    }
    case StatementKind::kFor:
      return execute_for(statement, scope, out);
    case StatementKind::kSet:
      RILL_RETURN_IF_ERROR(assign(statement, scope));
      return Flow::kNext;
    case StatementKind::kMacro:
      scope.set(statement.text, Value::macro(&statement, &scope));
      return Flow::kNext;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kGroup:
      break;
  }
  return execute(statement.body, scope, out);
}

Status Interpreter::print(const Statement& statement, Scope& scope, std::string& out) {
  RILL_ASSIGN_OR_RETURN(const Value value, evaluate(*statement.expression, scope));
  append_str(value, out);
  return {};
}

/// The items that a loop visits, after its condition.
Result<std::vector<Value>> Interpreter::loop_items(const Statement& statement, Scope& scope) {
  RILL_ASSIGN_OR_RETURN(const Value sequence, evaluate(*statement.expression, scope));
  RILL_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(sequence));
  RILL_RETURN_IF_ERROR(budget_.spend(items.size() * sizeof(Value)));
  if (!statement.condition) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    Scope inner{&scope, {}};
    RILL_RETURN_IF_ERROR(bind_targets(statement.targets, item, inner));
    RILL_ASSIGN_OR_RETURN(const Value passes, evaluate(*statement.condition, inner));
    if (passes.truthy()) kept.push_back(std::move(item));
  }
  return kept;
}

Result<Interpreter::Flow> Interpreter::execute_for(const Statement& statement, Scope& scope,
                                                   std::string& out) {
  RILL_ASSIGN_OR_RETURN(std::vector<Value> visited, loop_items(statement, scope));
  if (visited.empty()) return execute(statement.else_body, scope, out);
  auto items = std::make_shared<List>();
  items->items = std::move(visited);
  const std::shared_ptr<const List> shared = std::move(items);
  for (size_t i = 0; i < shared->items.size(); ++i) {
    Scope inner{&scope, {}};
    inner.set("loop", Value::loop(shared, i));
    RILL_RETURN_IF_ERROR(bind_targets(statement.targets, shared->items[i], inner));
    RILL_ASSIGN_OR_RETURN(const Flow flow, execute(statement.body, inner, out));
    RILL_RETURN_IF_ERROR(step(statement.line));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Status Interpreter::bind_targets(const std::vector<std::string>& targets, const Value& value,
                                 Scope& scope) {
  if (targets.size() == 1) {
    scope.set(targets[0], value);
    return {};
  }
  RILL_ASSIGN_OR_RETURN(const std::vector<Value> parts, iterate(value));
  if (parts.size() != targets.size()) {
    return argument_error(cat("got ", parts.size(), " values for ", targets.size(), " names"));
  }
  for (size_t i = 0; i < targets.size(); ++i) scope.set(targets[i], parts[i]);
  return {};
}

Status Interpreter::assign(const Statement& statement, Scope& scope) {
  Value value;
  if (statement.expression) {
    RILL_ASSIGN_OR_RETURN(value, evaluate(*statement.expression, scope));
  } else {
    Scope inner{&scope, {}};
    std::string text;
    RILL_RETURN_IF_ERROR(execute(statement.body, inner, text));
    RILL_RETURN_IF_ERROR(budget_.spend(text.size()));
    value = Value::string(std::move(text));
  }
  if (!statement.target_namespace.empty()) return assign_member(statement, value, scope);
  return bind_targets(statement.targets, value, scope);
}

Status Interpreter::assign_member(const Statement& statement, const Value& value, Scope& scope) {
  const std::string& name = statement.target_namespace;
  const Value* target = scope.find(name);
  if (target == nullptr || !target->is(Value::Kind::kNamespace)) {
    return argument_error(cat("\"", printable(name), "\" is no namespace"));
  }
  RILL_RETURN_IF_ERROR(check_storable(value));
  auto& members = target->as_namespace().members;
  for (auto& member : members) {
    if (member.first == statement.targets[0]) {
      member.second = value;
      return {};
    }
  }
  members.emplace_back(statement.targets[0], value);
  return {};
}

Status Interpreter::check_storable(const Value& value) const {
  if (value.is_handle()) return argument_error(cat("a ", value.type_name(), " cannot be stored"));
  if (value.depth() > kMaxValueDepth) return argument_error("a value is nested too deeply");
  return {};
}

Result<std::string> run_template(const std::vector<Statement>& statements, Context context,
                                 const DateTime& now, const Limits& limits) {
  Scope globals{nullptr, std::move(context)};
  Scope root{&globals, {}};
  std::string out;
  RILL_RETURN_IF_ERROR(Interpreter(now, limits).execute(statements, root, out));
  return out;
}

}  // namespace rill::text::jinja
