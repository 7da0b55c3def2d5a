// SPDX-License-Identifier: Apache-2.0
#include "chat_render.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "exit_codes.h"
#include "output.h"

namespace rill::cli {
namespace {

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// Content may hold anything; a terminal gets no control characters but those of layout.
std::string printable_content(std::string_view text, bool is_terminal) {
  if (!is_terminal) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) continue;
    out += c;
  }
  return out;
}

}  // namespace

Colours::Colours(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  if (isatty(descriptor) == 0 || (no_color != nullptr && *no_color != '\0')) return;
  prompt = "\x1b[1;32m";
  dim = "\x1b[2m";
  tool = "\x1b[36m";
  reset = "\x1b[0m";
}

int ReplyRenderer::show(const rill_reply_event& event) {
  if (event.reasoning_size > 0 && show_thinking_) {
    const Colours colours(STDERR_FILENO);
    write_stderr(std::string(colours.dim) +
                 printable_content({event.reasoning, event.reasoning_size}, true) +
                 std::string(colours.reset));
    is_reasoning_ = true;
  }
  if (event.content_size == 0) return kExitOk;
  if (is_reasoning_) write_stderr("\n\n");
  is_reasoning_ = false;
  const std::string text =
      printable_content({event.content, event.content_size}, isatty(STDOUT_FILENO) != 0);
  if (text.empty()) return kExitOk;
  has_content_ = true;
  last_ = text.back();
  return write_stdout(text);
}

int ReplyRenderer::finish(const rill_result* result) {
  if (is_reasoning_) write_stderr("\n");
  int exit_code = kExitOk;
  if (has_content_ && last_ != '\n') exit_code = write_stdout("\n");
  const Colours colours(STDOUT_FILENO);
  rill_choice choice = {};
  if (rill_result_choice(result, 0, &choice, nullptr) != RILL_OK) return exit_code;
  for (size_t i = 0; i < choice.num_tool_calls && exit_code == kExitOk; ++i) {
    rill_tool_call call = {};
    if (rill_result_tool_call(result, 0, i, &call, nullptr) != RILL_OK) break;
    // What a reply that was cut off left open stays text.
    auto arguments = nlohmann::ordered_json::parse(call.arguments, nullptr, false);
    nlohmann::ordered_json line;
    line["id"] = call.id;
    line["name"] = call.name;
    line["arguments"] =
        arguments.is_discarded() ? nlohmann::ordered_json(call.arguments) : std::move(arguments);
    exit_code =
        write_stdout(std::string(colours.tool) + line.dump() + std::string(colours.reset) + "\n");
  }
  // An empty reply is an empty line.
  if (!has_content_ && choice.num_tool_calls == 0 && exit_code == kExitOk)
    exit_code = write_stdout("\n");
  return exit_code;
}

}  // namespace rill::cli
