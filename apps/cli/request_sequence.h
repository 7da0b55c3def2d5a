// SPDX-License-Identifier: Apache-2.0
// The file of --request-sequence: a JSON array of requests, or an object with such an array as
// "requests".
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace rill::cli {

/// {"id": "...", "audio": "path", "language": "...", "options": {"key": value}}; only audio is
/// required. A relative path starts at the folder of the sequence file. Option values may be
/// strings, numbers or booleans.
struct SequenceRequest {
  std::string id;  ///< "request_N" where the file gives none
  std::string audio;
  std::vector<KeyValue> options;
};

/// Reads the file. A key that ASR has no use for is refused by name.
/// Returns 0, or an exit code after printing why.
int read_request_sequence(const std::string& path, std::vector<SequenceRequest>& requests);

}  // namespace rill::cli
