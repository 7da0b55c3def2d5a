// SPDX-License-Identifier: Apache-2.0
// The /commands of rill chat.
#pragma once

#include <string>

#include "chat_session.h"

namespace rill::cli {

enum class CommandOutcome {
  kDone,   ///< read the next line
  kReply,  ///< the model's turn
  kQuit,
};

/// Runs a line that begins with '/'.
CommandOutcome run_chat_command(const std::string& line, ChatSession& session);

}  // namespace rill::cli
