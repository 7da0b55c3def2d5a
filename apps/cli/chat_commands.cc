// SPDX-License-Identifier: Apache-2.0
#include "chat_commands.h"

#include <algorithm>

#include "exit_codes.h"
#include "output.h"

namespace rill::cli {
namespace {

using Outcome = CommandOutcome;

Outcome show_help(const std::string&, ChatSession&);

Outcome clear(const std::string&, ChatSession& session) {
  session.conversation().clear();
  print_message("the conversation is empty");
  return Outcome::kDone;
}

Outcome set_system(const std::string& text, ChatSession& session) {
  if (text.empty()) {
    write_stdout(session.conversation().system() + "\n");
  } else {
    session.conversation().set_system(text);
  }
  return Outcome::kDone;
}

Outcome regenerate(const std::string&, ChatSession& session) {
  session.conversation().drop_reply();
  if (session.conversation().ends_with_user()) return Outcome::kReply;
  print_message("there is no reply to write again");
  return Outcome::kDone;
}

Outcome undo(const std::string&, ChatSession& session) {
  const auto taken_back = session.conversation().drop_turn();
  print_message(taken_back ? "taken back: " + *taken_back : "there is nothing to take back");
  return Outcome::kDone;
}

Outcome save(const std::string& path, ChatSession& session) {
  if (path.empty()) {
    print_message("/save FILE: FILE is missing");
  } else if (session.conversation().save(path) == kExitOk) {
    print_message("saved " + path);
  }
  return Outcome::kDone;
}

Outcome load(const std::string& path, ChatSession& session) {
  if (path.empty()) {
    print_message("/load FILE: FILE is missing");
  } else if (session.conversation().load(path) == kExitOk) {
    print_message("loaded " + path +
                  ", turns: " + std::to_string(session.conversation().num_turns()));
  }
  return Outcome::kDone;
}

Outcome think(const std::string& value, ChatSession& session) {
  const bool is_number =
      !value.empty() && value.size() < 10 &&
      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (value == "show" || value == "hide") {
    session.settings().show_thinking = value == "show";
  } else if (value == "on" || value == "off" || value == "auto" || is_number) {
    session.settings().thinking = value;
  } else {
    print_message("/think: expected on, off, auto, a number of tokens, show or hide");
  }
  return Outcome::kDone;
}

Outcome statistics(const std::string&, ChatSession& session) {
  print_message(session.statistics().empty() ? "there is no reply yet" : session.statistics());
  return Outcome::kDone;
}

Outcome quit(const std::string&, ChatSession&) { return Outcome::kQuit; }

struct Command {
  const char* name;
  Outcome (*run)(const std::string& argument, ChatSession& session);
  const char* help;
};

constexpr Command kCommands[] = {
    {"/help", show_help, "this list"},
    {"/clear", clear, "forgets the conversation, but not the system prompt"},
    {"/system", set_system, "TEXT: sets the system prompt; alone: shows it"},
    {"/regen", regenerate, "writes the last reply again"},
    {"/undo", undo, "takes the last question and its reply back"},
    {"/save", save, "FILE: writes the messages as JSON"},
    {"/load", load, "FILE: takes up messages that were saved"},
    {"/think", think, "on, off, auto, or N tokens; show or hide"},
    {"/stats", statistics, "tokens and speed of the last reply"},
    {"/quit", quit, "ends; so do /exit and Ctrl-D"},
    {"/exit", quit, nullptr},
};

Outcome show_help(const std::string&, ChatSession&) {
  std::string text;
  for (const Command& command : kCommands) {
    if (command.help == nullptr) continue;
    std::string name = command.name;
    name.resize(10, ' ');
    text += name + command.help + "\n";
  }
  text +=
      "A line that ends with \\ goes on; between two lines of \"\"\" text may have any lines.\n";
  text += "Ctrl-C ends a reply.\n";
  write_stdout(text);
  return Outcome::kDone;
}

}  // namespace

CommandOutcome run_chat_command(const std::string& line, ChatSession& session) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const size_t begin = line.find_first_not_of(' ', space);
  const std::string argument =
      space == std::string::npos || begin == std::string::npos ? "" : line.substr(begin);
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(argument, session);
  }
  print_message("unknown command " + name + "; /help lists them");
  return Outcome::kDone;
}

}  // namespace rill::cli
