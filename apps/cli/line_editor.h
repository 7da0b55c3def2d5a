// SPDX-License-Identifier: Apache-2.0
// Reading a line from a terminal: with editing and a history where the build has libedit, plainly
// otherwise.
#pragma once

#include <string>

namespace rill::cli {

class LineEditor {
 public:
  /// history_file: "" keeps no history between runs.
  explicit LineEditor(std::string history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Outcome { kLine, kEnd, kInterrupted };
  /// Reads a line; `prompt` is shown before it.
  Outcome read(const std::string& prompt, std::string& line);
  /// Lines that are worth going back to.
  void remember(const std::string& line);

 private:
  std::string history_file_;
};

/// Where the history of `rill chat` lies: in the state folder of the XDG convention; "" without a
/// home.
[[nodiscard]] std::string chat_history_file();

}  // namespace rill::cli
