// SPDX-License-Identifier: Apache-2.0
// What a model's reply is made of: reasoning, content and tool calls, as a whole and as the pieces
// of a stream.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace rill::text {

/// A piece of a tool call. The pieces of a call are joined in order; nothing is ever taken back.
struct ToolCallDelta {
  size_t index = 0;       ///< number of the call in the reply
  std::string name;       ///< with the first piece only
  std::string arguments;  ///< more of the JSON text
  bool is_last = false;   ///< the call is whole: its arguments are a JSON object
};

/// What one push of a parser adds to a reply.
struct ReplyDelta {
  std::string reasoning;
  std::string content;
  std::vector<ToolCallDelta> tool_calls;

  [[nodiscard]] bool empty() const {
    return reasoning.empty() && content.empty() && tool_calls.empty();
  }
};

struct ToolCall {
  std::string name;
  std::string arguments;
  bool is_complete = false;  ///< false: the reply ended inside the call, or the call was damaged
};

/// A reply put together from deltas.
struct Reply {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;

  void append(const ReplyDelta& delta) {
    reasoning += delta.reasoning;
    content += delta.content;
    for (const ToolCallDelta& call : delta.tool_calls) {
      if (call.index >= tool_calls.size()) tool_calls.resize(call.index + 1);
      tool_calls[call.index].name += call.name;
      tool_calls[call.index].arguments += call.arguments;
      tool_calls[call.index].is_complete = tool_calls[call.index].is_complete || call.is_last;
    }
  }
};

}  // namespace rill::text
