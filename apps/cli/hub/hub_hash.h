// SPDX-License-Identifier: Apache-2.0
// Checks bytes against the names that the hub gives them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace rill::cli::hub {

/// Told the part done, 0 to 1; false ends the work.
using HashProgress = std::function<bool(double done)>;

/// True for an entity tag that is a hash: 64 hex digits (SHA-256 of a large file) or 40 (git's own
/// hash of a small one).
[[nodiscard]] bool is_hash(const std::string& etag);

/// The hash of a file, of the kind that has `digits` hex digits.
/// Throws HubError if it cannot be read, HubInterrupted if progress says so.
std::string hash_file(const std::filesystem::path& path, size_t digits,
                      const HashProgress& progress);

}  // namespace rill::cli::hub
