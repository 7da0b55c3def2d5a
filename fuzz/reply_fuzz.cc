// SPDX-License-Identifier: Apache-2.0
// Arbitrary replies: cutting the text anywhere changes nothing, whole calls have JSON objects as
// arguments. The first byte chooses options, the second where to cut.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "text/reply_parser.h"

namespace {

using rill::text::Reply;
using rill::text::ReplyOptions;
using rill::text::ReplyParser;

void require(bool condition) {
  if (!condition) std::abort();
}

Reply parse_in_steps(std::string_view text, size_t step, const ReplyOptions& options,
                     const rill::Json& tools) {
  ReplyParser parser(options, tools);
  Reply reply;
  for (size_t begin = 0; begin < text.size(); begin += step)
    reply.append(parser.push(text.substr(begin, step)));
  reply.append(parser.finish());
  return reply;
}

void require_equal(const Reply& a, const Reply& b) {
  require(a.reasoning == b.reasoning && a.content == b.content &&
          a.tool_calls.size() == b.tool_calls.size());
  for (size_t i = 0; i < a.tool_calls.size(); ++i) {
    require(a.tool_calls[i].name == b.tool_calls[i].name);
    require(a.tool_calls[i].arguments == b.tool_calls[i].arguments);
    require(a.tool_calls[i].is_complete == b.tool_calls[i].is_complete);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const rill::Json tools = *rill::parse_json(
      R"([{"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "i": {"type": "integer"},
          "n": {"type": "number"}, "o": {"type": "object"}}}}])");
  if (size < 2) return 0;
  ReplyOptions options;
  options.starts_in_reasoning = (data[0] & 1) != 0;
  options.keep_white_space = (data[0] & 2) != 0;
  const std::string input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const bool is_inside = (data[0] & 4) != 0;
  const std::string text =
      rill::to_valid_utf8(is_inside ? "<|tool_call_start|>[f(" + input : input);
  const Reply whole = rill::text::parse_reply(text, options, tools);
  require_equal(whole, parse_in_steps(text, 1, options, tools));
  require_equal(whole, parse_in_steps(text, size_t{1} + data[1] % 32, options, tools));
  for (const rill::text::ToolCall& call : whole.tool_calls) {
    if (!call.is_complete) continue;
    const rill::Result<rill::Json> arguments = rill::parse_json(call.arguments);
    require(arguments && arguments->is_object());
  }
  return 0;
}
