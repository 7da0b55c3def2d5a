// SPDX-License-Identifier: Apache-2.0
// The file of --request-sequence: a JSON array of requests, or an object with such an array as
// "requests".
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace rill::cli {

/// Bytes that go with a request: an earlier turn's question or reply.
struct SequenceArtifact {
  std::string id;
  std::string kind;
  std::string path;  ///< of the file with the payload
  std::vector<KeyValue> meta;
};

/// {"id": "...", "text": "...", "voice": "...", "audio": "path", "language": "...",
/// "options": {"key": value}, "artifacts": [{"id": "...", "kind": "...", "path": "path",
/// "meta": {"key": "value"}}]}. Relative paths start at the folder of the sequence file. Option
/// values may be strings, numbers or booleans.
struct SequenceRequest {
  std::string id;  ///< "request_N" where the file gives none
  std::string audio;
  std::string text;
  std::string voice;
  std::vector<KeyValue> options;
  std::vector<SequenceArtifact> artifacts;
};

/// Reads the file. A key that the task ("asr", "tts", "s2s") has no use for is refused by name.
/// Returns 0, or an exit code after printing why.
int read_request_sequence(const std::string& path, const std::string& task,
                          std::vector<SequenceRequest>& requests);

}  // namespace rill::cli
