// SPDX-License-Identifier: Apache-2.0
// The few things that are done with addresses.
#pragma once

#include <string>
#include <string_view>

namespace rill::cli::hub {

/// "https://host:port" in lower case, with the port written out.
[[nodiscard]] std::string url_origin(std::string_view url);

/// Where a Location header leads, from the address that gave it.
[[nodiscard]] std::string url_join(std::string_view base, std::string_view location);

/// Escapes what may not stand in one part of a path, and in a path of several parts.
[[nodiscard]] std::string url_escape(std::string_view part);
[[nodiscard]] std::string url_escape_path(std::string_view path);

}  // namespace rill::cli::hub
