// SPDX-License-Identifier: Apache-2.0
// The interpreter: runs a syntax tree over a context. Steps, depth, text and output are bounded, so
// that no template and no request can use more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"

namespace rill::text::jinja {

struct Limits {
  size_t max_steps = 5'000'000;          ///< expressions and statements
  size_t max_bytes = size_t{512} << 20;  ///< text and lists made on the way
  size_t max_output_bytes = size_t{64} << 20;
};

/// Names of one level; the enclosing one is behind `parent`.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> names;

  [[nodiscard]] const Value* find(std::string_view name) const;
  void set(const std::string& name, Value value);
};

using Context = std::vector<std::pair<std::string, Value>>;

/// Runs a template. Errors: kInvalidArgument, "chat template: line N: ...".
Result<std::string> run_template(const std::vector<Statement>& statements, Context context,
                                 const DateTime& now, const Limits& limits);

}  // namespace rill::text::jinja
