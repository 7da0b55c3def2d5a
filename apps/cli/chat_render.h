// SPDX-License-Identifier: Apache-2.0
// Showing a reply while it arrives: content on stdout, reasoning on stderr, colours on a terminal.
#pragma once

#include <string>
#include <string_view>

#include "handles.h"

namespace rill::cli {

/// Colour codes for a stream; empty texts where it is no terminal or NO_COLOR is set.
struct Colours {
  explicit Colours(int descriptor);
  std::string_view prompt, dim, tool, reset;
};

class ReplyRenderer {
 public:
  explicit ReplyRenderer(bool show_thinking) : show_thinking_(show_thinking) {}

  /// Returns 0, or the exit code to end with.
  int show(const rill_reply_event& event);
  /// Ends the reply's last line, and prints its tool calls, one JSON object each.
  int finish(const rill_result* result);

 private:
  const bool show_thinking_;
  bool is_reasoning_ = false;  // the last thing shown
  bool has_content_ = false;
  char last_ = '\n';
};

}  // namespace rill::cli
