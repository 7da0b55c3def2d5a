// SPDX-License-Identifier: Apache-2.0
// A spoken conversation on disk: for each turn its question as it came, and the reply's artifact.
#pragma once

#include <string>

#include "rill/rill.h"

namespace rill::cli {

/// The folder of `rill talk --history DIR`: turn-0001.question, turn-0001.reply, turn-0001.json
/// (the reply's meta), ...
class TalkHistory {
 public:
  explicit TalkHistory(std::string directory) : directory_(std::move(directory)) {}

  /// Adds the kept turns to a request, oldest first. A missing folder is an empty conversation.
  /// Returns 0, or an exit code after printing why.
  int add_turns(rill_request* request);
  /// Keeps a turn: the question's file bytes and the result's reply artifact. Returns 0, or an exit
  /// code.
  int append_turn(const std::string& question, const rill_result* result) const;

 private:
  [[nodiscard]] std::string turn_path(size_t number, const char* extension) const;

  std::string directory_;
  size_t num_turns_ = 0;
};

/// A whole file, or standard input for "-". Returns 0, or an exit code after printing why.
int read_bytes(const std::string& path, std::string& bytes);

}  // namespace rill::cli
