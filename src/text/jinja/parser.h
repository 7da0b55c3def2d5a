// SPDX-License-Identifier: Apache-2.0
// The parser: tokens to the syntax tree. Constructs, filters, tests and methods that the
// interpreter lacks are refused here, with line and name.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/jinja/ast.h"

namespace rill::text::jinja {

/// Errors: kInvalidFormat (syntax), kUnsupported (well formed, but lacking here).
Result<std::vector<Statement>> parse_template(std::string_view source);

}  // namespace rill::text::jinja
