// SPDX-License-Identifier: Apache-2.0
// The text form of an inspection report.
#pragma once

#include <string>

#include "base/json.h"

namespace rill::inspect {

/// One "key: value" line per member; nested objects are indented; byte counts also in binary units.
[[nodiscard]] std::string render_text(const Json& report);

}  // namespace rill::inspect
