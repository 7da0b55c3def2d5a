// SPDX-License-Identifier: Apache-2.0
// Where a test finds the speech detector's weights, which are installed and not committed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace rill::test {

/// RILL_VAD_FILE, or the file that the set-up installs; nothing if there is none.
inline std::optional<std::string> vad_weights() {
  const char* named = std::getenv("RILL_VAD_FILE");
  const std::string path = named != nullptr ? named : RILL_VAD_WEIGHTS;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  return path;
}

inline constexpr const char* kNoVadWeights =
    "the speech detector's weights are not installed (tools/install_vad.sh)";

}  // namespace rill::test
