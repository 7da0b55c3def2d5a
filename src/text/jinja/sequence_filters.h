// SPDX-License-Identifier: Apache-2.0
// Filters over lists and dicts. Internal to the builtins.
#pragma once

#include <string_view>

#include "text/jinja/builtins.h"

namespace rill::text::jinja {

[[nodiscard]] const Filter* find_sequence_filter(std::string_view name);

}  // namespace rill::text::jinja
