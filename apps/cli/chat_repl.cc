// SPDX-License-Identifier: Apache-2.0
#include "chat_repl.h"

#include <unistd.h>

#include <string>

#include "chat_commands.h"
#include "chat_render.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "line_editor.h"
#include "output.h"

namespace rill::cli {
namespace {

constexpr int kExitInterrupted = 130;

enum class Input { kText, kNothing, kEnd, kTerminated };

/// Reads the lines of one message: up to one that does not end with a backslash, or between two
/// lines of three quotes.
Input read_message(LineEditor& editor, std::string& message) {
  message.clear();
  bool is_block = false;
  while (true) {
    std::string line;
    switch (editor.read(message.empty() && !is_block ? "> " : ". ", line)) {
      case LineEditor::Outcome::kEnd:
        return Input::kEnd;
      case LineEditor::Outcome::kInterrupted:
        if (take_interrupt() != kExitInterrupted) return Input::kTerminated;
        write_stdout("\n");
        print_message("/quit or Ctrl-D ends");
        return Input::kNothing;
      case LineEditor::Outcome::kLine:
        break;
    }
    editor.remember(line);
    if (line == "\"\"\"") {
      if (is_block) return message.empty() ? Input::kNothing : Input::kText;
      is_block = true;
      continue;
    }
    const bool goes_on = !is_block && !line.empty() && line.back() == '\\';
    if (goes_on) line.pop_back();
    message += line;
    if (!is_block && !goes_on) break;
    message += '\n';
  }
  return message.find_first_not_of(" \t\n") == std::string::npos ? Input::kNothing : Input::kText;
}

/// The model's turn. Ctrl-C ends the reply alone.
int take_turn(ChatSession& session) {
  const int exit_code = session.reply();
  if (exit_code == kExitInterrupted) {
    take_interrupt();
    write_stdout("\n");
    return kExitOk;
  }
  // A request that failed is not the end: the user may change it.
  return exit_code == kExitOk || exit_code == 143 || stdout_closed() ? exit_code : kExitOk;
}

}  // namespace

int run_chat_repl(ChatSession& session) {
  LineEditor editor(chat_history_file());
  print_message("/help lists the commands");
  int exit_code = kExitOk;
  while (exit_code == kExitOk && !stdout_closed()) {
    std::string message;
    const Input input = read_message(editor, message);
    if (input == Input::kTerminated) return 143;
    if (input == Input::kEnd) {
      write_stdout("\n");
      break;
    }
    if (input == Input::kNothing) continue;
    if (message[0] == '/') {
      const CommandOutcome outcome = run_chat_command(message, session);
      if (outcome == CommandOutcome::kQuit) break;
      if (outcome == CommandOutcome::kDone) continue;
    } else {
      session.conversation().add_user(message);
    }
    exit_code = take_turn(session);
    // Without a reply the question is taken back, so that the next one stands alone.
    if (session.conversation().ends_with_user()) session.conversation().drop_turn();
  }
  const int kept = session.conversation().num_turns() > 0 ? session.keep() : kExitOk;
  return exit_code != kExitOk ? exit_code : kept;
}

}  // namespace rill::cli
