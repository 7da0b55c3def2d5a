// SPDX-License-Identifier: Apache-2.0
// The interpreter's expressions.
#include "base/str_cat.h"
#include "text/jinja/interpreter_impl.h"
#include "text/jinja/lexer.h"
#include "text/jinja/operators.h"
#include "text/jinja/python_text.h"

namespace rill::text::jinja {

Result<Value> Interpreter::evaluate(const Expression& node, Scope& scope) {
  const Level level(*this);
  RILL_RETURN_IF_ERROR(step(node.line));
  Result<Value> value = evaluate_node(node, scope);
  if (!value && value.error().message.rfind("chat template: ", 0) != 0) {
    return template_error(value.error().code, node.line, value.error().message);
  }
  return value;
}

Result<Value> Interpreter::evaluate_node(const Expression& node, Scope& scope) {
  switch (node.kind) {
    case ExpressionKind::kConstant:
      return node.value;
    case ExpressionKind::kName:
      return evaluate_name(node, scope);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
      return evaluate_list(node, scope);
    case ExpressionKind::kDict:
      return evaluate_dict(node, scope);
    case ExpressionKind::kAttribute: {
      RILL_ASSIGN_OR_RETURN(const Value object, evaluate(*node.children[0], scope));
      return get_member(object, node.name);
    }
    case ExpressionKind::kItem: {
      RILL_ASSIGN_OR_RETURN(const Value object, evaluate(*node.children[0], scope));
      RILL_ASSIGN_OR_RETURN(const Value index, evaluate(*node.children[1], scope));
      return get_item(object, index);
    }
    case ExpressionKind::kSlice:
      return evaluate_slice(node, scope);
    case ExpressionKind::kCall:
    case ExpressionKind::kMethod:
    case ExpressionKind::kFilter:
    case ExpressionKind::kTest:
      return evaluate_call(node, scope);
    case ExpressionKind::kUnary: {
      RILL_ASSIGN_OR_RETURN(const Value operand, evaluate(*node.children[0], scope));
      if (node.name == "not") return Value::boolean(!operand.truthy());
      return apply_sign(node.name, operand);
    }
    case ExpressionKind::kBinary:
      return evaluate_binary(node, scope);
    case ExpressionKind::kCompare:
      return evaluate_compare(node, scope);
    case ExpressionKind::kCondition:
      break;
  }
  return evaluate_condition(node, scope);
}

Result<Value> Interpreter::evaluate_name(const Expression& node, Scope& scope) {
  if (const Value* value = scope.find(node.name)) return *value;
  if (is_known_function(node.name)) return Value::function(node.name);
  return Value::undefined(node.name);
}

Result<Value> Interpreter::evaluate_list(const Expression& node, Scope& scope) {
  std::vector<Value> items;
  for (const ExpressionPtr& child : node.children) {
    RILL_ASSIGN_OR_RETURN(Value item, evaluate(*child, scope));
    RILL_RETURN_IF_ERROR(check_storable(item));
    items.push_back(std::move(item));
  }
  RILL_RETURN_IF_ERROR(budget_.spend(items.size() * sizeof(Value)));
  return Value::list(std::move(items), node.kind == ExpressionKind::kTuple);
}

Result<Value> Interpreter::evaluate_dict(const Expression& node, Scope& scope) {
  std::vector<std::pair<std::string, Value>> members;
  for (size_t i = 0; i < node.children.size(); i += 2) {
    RILL_ASSIGN_OR_RETURN(const Value key, evaluate(*node.children[i], scope));
    RILL_ASSIGN_OR_RETURN(Value value, evaluate(*node.children[i + 1], scope));
    if (!key.is_string())
      return argument_error(cat("a dict key is ", key.type_name(), ", expected str"));
    RILL_RETURN_IF_ERROR(check_storable(value));
    bool replaced = false;
    for (auto& member : members) {
      if (member.first != key.as_string()) continue;
      member.second = value;
      replaced = true;
    }
    if (!replaced) members.emplace_back(key.as_string(), std::move(value));
  }
  RILL_RETURN_IF_ERROR(budget_.spend(members.size() * sizeof(members[0])));
  return Value::dict(std::move(members));
}

Result<Value> Interpreter::evaluate_binary(const Expression& node, Scope& scope) {
  RILL_ASSIGN_OR_RETURN(Value left, evaluate(*node.children[0], scope));
  if (node.name == "and" && !left.truthy()) return left;
  if (node.name == "or" && left.truthy()) return left;
  RILL_ASSIGN_OR_RETURN(Value right, evaluate(*node.children[1], scope));
  if (node.name == "and" || node.name == "or") return right;
  if (node.name != "~") return apply_arithmetic(node.name, left, right, budget_);
  std::string text = to_str(left);
  append_str(right, text);
  RILL_RETURN_IF_ERROR(budget_.spend(text.size()));
  return Value::string(std::move(text));
}

Result<Value> Interpreter::evaluate_compare(const Expression& node, Scope& scope) {
  RILL_ASSIGN_OR_RETURN(Value left, evaluate(*node.children[0], scope));
  for (size_t i = 0; i < node.operators.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(Value right, evaluate(*node.children[i + 1], scope));
    RILL_ASSIGN_OR_RETURN(const bool holds, compare_values(node.operators[i], left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_condition(const Expression& node, Scope& scope) {
  RILL_ASSIGN_OR_RETURN(const Value test, evaluate(*node.children[1], scope));
  if (test.truthy()) return evaluate(*node.children[0], scope);
  if (node.children[2]) return evaluate(*node.children[2], scope);
  return Value::undefined("the inline if without else");
}

Result<Value> Interpreter::evaluate_slice(const Expression& node, Scope& scope) {
  RILL_ASSIGN_OR_RETURN(const Value object, evaluate(*node.children[0], scope));
  std::optional<int64_t> parts[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!node.children[i + 1]) continue;
    RILL_ASSIGN_OR_RETURN(const Value part, evaluate(*node.children[i + 1], scope));
    if (part.is(Value::Kind::kNone)) continue;
    if (!part.is_integral())
      return argument_error(cat("a slice bound is ", part.type_name(), ", expected int"));
    parts[i] = part.as_int();
  }
  return get_slice(object, parts[0], parts[1], parts[2], budget_);
}

Result<Arguments> Interpreter::evaluate_arguments(const Expression& node, Scope& scope) {
  Arguments arguments;
  for (size_t i = 1; i < node.children.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(Value value, evaluate(*node.children[i], scope));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& argument : node.named) {
    RILL_ASSIGN_OR_RETURN(Value value, evaluate(*argument.second, scope));
    arguments.named.emplace_back(argument.first, std::move(value));
  }
  return arguments;
}

/// Macros alone may be given handles: a builtin could put them into a list.
Status Interpreter::check_no_handles(const Arguments& arguments) const {
  for (const Value& value : arguments.positional) RILL_RETURN_IF_ERROR(check_storable(value));
  for (const auto& argument : arguments.named)
    RILL_RETURN_IF_ERROR(check_storable(argument.second));
  return {};
}

Result<Value> Interpreter::evaluate_call(const Expression& node, Scope& scope) {
  RILL_ASSIGN_OR_RETURN(const Value subject, evaluate(*node.children[0], scope));
  RILL_ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(node, scope));
  if (!subject.is(Value::Kind::kMacro)) RILL_RETURN_IF_ERROR(check_no_handles(arguments));
  if (node.kind == ExpressionKind::kFilter) return node.filter->apply(subject, arguments, budget_);
  if (node.kind == ExpressionKind::kMethod)
    return call_method(subject, node.name, arguments, budget_);
  if (node.kind == ExpressionKind::kTest) {
    RILL_ASSIGN_OR_RETURN(const bool passes, node.test->apply(subject, arguments));
    return Value::boolean(passes);
  }
  if (subject.is(Value::Kind::kMacro)) return call_macro(subject.as_macro(), arguments);
  if (subject.is(Value::Kind::kFunction))
    return call_function(subject.as_string(), arguments, budget_);
  if (subject.is(Value::Kind::kUndefined)) {
    return argument_error(
        cat("\"", printable(subject.as_string()), "\" is undefined, it cannot be called"));
  }
  return argument_error(cat("a value of type ", subject.type_name(), " cannot be called"));
}

Result<Value> Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  const std::vector<Parameter>& parameters = macro.definition->parameters;
  if (arguments.positional.size() > parameters.size()) {
    return argument_error(cat("macro \"", printable(macro.definition->text), "\": got ",
                              arguments.positional.size(), " arguments, expected at most ",
                              parameters.size()));
  }
  Scope inner{macro.scope, {}};
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value* given = arguments.find(i, parameters[i].name);
    Value value = given != nullptr ? *given : Value::undefined(parameters[i].name);
    if (given == nullptr && parameters[i].fallback) {
      RILL_ASSIGN_OR_RETURN(value, evaluate(*parameters[i].fallback, inner));
    }
    inner.set(parameters[i].name, std::move(value));
  }
  for (const auto& argument : arguments.named) {
    if (inner.find(argument.first) == nullptr) {
      return argument_error(cat("macro \"", printable(macro.definition->text),
                                "\": unexpected argument \"", printable(argument.first), "\""));
    }
  }
  std::string text;
  RILL_RETURN_IF_ERROR(execute(macro.definition->body, inner, text));
  RILL_RETURN_IF_ERROR(budget_.spend(text.size()));
  return Value::string(std::move(text));
}

}  // namespace rill::text::jinja
