// SPDX-License-Identifier: Apache-2.0
// Arbitrary template text, rendered over a fixed chat: an error or a prompt within the limits,
// nothing else.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "text/chat_template.h"

namespace {

constexpr std::string_view kMessages = R"json([
  {"role": "system", "content": "S"},
  {"role": "user", "content": [{"type": "text", "text": "a b"}, {"type": "image"}]},
  {"role": "assistant", "content": "<think>t</think>x", "thinking": "y",
   "tool_calls": [{"function": {"name": "f", "arguments": {"s": "it's", "n": 1.5, "l": [1, null, true]}}}]},
  {"role": "tool", "content": null}])json";
constexpr std::string_view kTools =
    R"json([{"name": "f", "parameters": {"x": {"type": "string"}}}, "raw"])json";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const rill::Json messages = *rill::parse_json(kMessages);
  static const rill::Json tools = *rill::parse_json(kTools);
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const rill::Result<rill::text::ChatTemplate> chat = rill::text::ChatTemplate::compile(source);
  if (!chat) return 0;
  rill::text::RenderOptions options;
  options.now = {2026, 5, 28, 9, 30, 0};
  options.limits = {.max_steps = 20000, .max_bytes = 4 << 20, .max_output_bytes = 1 << 20};
  const rill::Result<std::string> prompt = chat->render(messages, tools, options);
  // One statement may add up to the size of one value to an output that is just below its limit.
  if (prompt && prompt->size() > (6 << 20)) std::abort();
  return 0;
}
