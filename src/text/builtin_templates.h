// SPDX-License-Identifier: Apache-2.0
// Chat templates for model files that ship none: one for each way in which models of the LFM2
// family were trained.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rill::text {

/// lfm2 (LFM2), lfm2.5-instruct (LFM2.5-1.2B at release), lfm2.5 (LFM2.5-8B-A1B, 230M),
/// lfm2.5-dated (the same with today's date before the tools), lfm2.5-v2 (the same, accepting
/// reasoning_content), lfm2.5-2.6b (LFM2.5-2.6B).
[[nodiscard]] std::span<const std::string_view> builtin_template_names();

/// The Jinja source, if there is one of this name.
[[nodiscard]] std::optional<std::string> builtin_template(std::string_view name);

}  // namespace rill::text
