// SPDX-License-Identifier: Apache-2.0
// ReplyParser: splits a reply, while it arrives, into reasoning (<think>...</think>), content and
// tool calls. The input is the decoded text with special tokens printed. Every delta only appends;
// cutting the text elsewhere changes nothing but where the deltas are cut. No input is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/reply.h"
#include "text/tool_call_parser.h"

namespace rill::text {

struct ReplyOptions {
  bool starts_in_reasoning = false;  ///< the prompt ended with an open <think>
  bool split_reasoning = true;       ///< false: reasoning and its tags stay in the content
  bool parse_tool_calls = true;      ///< false: calls stay in the content, without their markers
  bool keep_white_space =
      false;  ///< keep the blanks around reasoning and calls, as the model wrote them
};

/// - Reasoning may begin anywhere; text in it is never content, also if </think> never comes.
/// Content holds neither tag.
/// - A call may stand inside reasoning; a block that holds no call is content.
/// - <|im_end|> ends the reply; what follows is ignored.
/// - Without keep_white_space, reasoning loses the blanks at its ends, content those next to
/// reasoning and calls.
class ReplyParser {
 public:
  /// tools: the request's tool list or null; see ToolSchemas.
  explicit ReplyParser(const ReplyOptions& options = {}, const Json& tools = {});
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  [[nodiscard]] ReplyDelta push(std::string_view text);
  /// The end of the reply; what was held back comes out.
  [[nodiscard]] ReplyDelta finish();

  /// The reply is inside reasoning (a constraint on the answer must wait).
  [[nodiscard]] bool is_reasoning() const { return part_ == Part::kReasoning; }

 private:
  enum class Part { kContent, kReasoning, kToolCalls, kEnded };

  void process(ReplyDelta& out, bool is_end);
  void take_tag(size_t tag, ReplyDelta& out);
  void add_text(std::string_view text, ReplyDelta& out);
  void begin_tool_calls();
  void end_tool_calls(bool has_end_marker, ReplyDelta& out);
  [[nodiscard]] bool is_tag_active(size_t tag) const;

  ReplyOptions options_;
  ToolSchemas schemas_;
  ToolCallParser calls_;
  Part part_ = Part::kContent;
  Part part_before_calls_ = Part::kContent;
  std::string held_;  // text that may be the start of a tag

  // Blanks that come out only if more text follows.
  std::string reasoning_blanks_;
  std::string content_blanks_;
  bool is_reasoning_started_ = false;  // false: blanks are dropped until there is text
  bool is_content_started_ = false;
  bool is_after_tag_ = false;  // no content since the last </think> or call
};

/// A whole reply at once; equal to what the deltas of any cut of it add up to.
[[nodiscard]] Reply parse_reply(std::string_view text, const ReplyOptions& options = {},
                                const Json& tools = {});

}  // namespace rill::text
