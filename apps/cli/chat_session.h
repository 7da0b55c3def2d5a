// SPDX-License-Identifier: Apache-2.0
// One conversation with a model: asks for the next reply, shows it, keeps it.
#pragma once

#include <string>
#include <vector>

#include "chat_conversation.h"
#include "options.h"
#include "runtime.h"

namespace rill::cli {

struct ChatSettings {
  std::string tools;     ///< JSON text; "" for none
  std::string thinking;  ///< "", on, off or a number of tokens
  bool show_thinking = false;
  bool print_json = false;        ///< the whole answer in OpenAI's form instead of its text
  std::string state_file;         ///< "" for none
  std::vector<KeyValue> options;  ///< of the request
};

class ChatSession {
 public:
  ChatSession(Runtime& runtime, ChatSettings settings)
      : runtime_(runtime), settings_(std::move(settings)) {}

  /// Takes up the state file's conversation, if there is one. Returns 0, or an exit code.
  int restore();
  /// Computes and shows the reply to the conversation, and keeps it. Ctrl-C ends the reply, of
  /// which the part that was written is kept.
  /// Returns 0, 130 or 143 after a signal, or another exit code after printing why.
  int reply();
  /// Writes the state file.
  int keep();

  Conversation& conversation() { return conversation_; }
  ChatSettings& settings() { return settings_; }
  /// A line about the last reply: tokens and speed; "" before the first.
  [[nodiscard]] const std::string& statistics() const { return statistics_; }

 private:
  int make_request(RequestHandle& request);
  int pull(rill_reply_stream* stream, ResultHandle& result);
  void measure(const rill_result* result);

  Runtime& runtime_;
  ChatSettings settings_;
  Conversation conversation_;
  std::string statistics_;
};

}  // namespace rill::cli
