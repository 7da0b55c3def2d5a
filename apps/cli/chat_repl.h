// SPDX-License-Identifier: Apache-2.0
// The read-eval-print loop of rill chat.
#pragma once

#include "chat_session.h"

namespace rill::cli {

/// Reads lines until the end. Returns the exit code.
int run_chat_repl(ChatSession& session);

}  // namespace rill::cli
