// SPDX-License-Identifier: Apache-2.0
// A spoken conversation, also on disk: for each turn its question as it came, and the reply's
// artifact.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rill/rill.h"

namespace rill::cli {

/// The turns of `rill talk`. With a folder they are also kept there: turn-0001.question,
/// turn-0001.reply, turn-0001.json (the reply's meta), ...
class TalkHistory {
 public:
  /// "": no folder.
  explicit TalkHistory(std::string directory) : directory_(std::move(directory)) {}

  /// Reads the folder's turns; a missing folder is an empty conversation. Returns 0, or an exit
  /// code after printing why.
  int load();
  /// Adds the turns to a request, oldest first. Returns 0, or an exit code after printing why.
  int add_turns(rill_request* request) const;
  /// Adds a turn: the question's file bytes and the result's reply artifact. Returns 0, or an exit
  /// code after printing why.
  int append_turn(const std::string& question, const rill_result* result);
  /// Leaves out the oldest turns from now on, half of them; the folder keeps them.
  void forget_oldest();
  [[nodiscard]] bool empty() const { return turns_.empty(); }

 private:
  struct Turn {
    std::string question;
    std::string reply;
    std::vector<std::pair<std::string, std::string>> meta;
  };

  [[nodiscard]] std::string turn_path(size_t number, const char* extension) const;
  int load_turn(size_t number, Turn& turn) const;
  int save_turn(size_t number, const Turn& turn) const;

  std::string directory_;
  std::vector<Turn> turns_;
  size_t num_forgotten_ = 0;
};

/// A whole file, or standard input for "-". Returns 0, or an exit code after printing why.
int read_bytes(const std::string& path, std::string& bytes);

}  // namespace rill::cli
