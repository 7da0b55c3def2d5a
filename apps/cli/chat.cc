// SPDX-License-Identifier: Apache-2.0
// rill chat: a conversation on a terminal, or one reply to -p or standard input.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "chat_repl.h"
#include "chat_session.h"
#include "commands.h"
#include "exit_codes.h"
#include "text_flags.h"

namespace rill::cli {
namespace {

struct ChatOptions {
  TextFlags text;
  std::string prompt;
  std::string system;
  std::string messages_file;
  std::string tools_file;
  std::string tool_choice;
  ChatSettings settings;
};

/// The question of a single reply; nothing for a conversation on a terminal.
int read_prompt(const ChatOptions& options, std::string& prompt, bool& is_repl) {
  is_repl = false;
  if (!options.prompt.empty() || !options.messages_file.empty()) {
    if (options.prompt != "-") {
      prompt = options.prompt;
      return kExitOk;
    }
  } else if (isatty(STDIN_FILENO) != 0) {
    is_repl = true;
    return kExitOk;
  }
  const int exit_code = read_input("-", prompt);
  if (exit_code != kExitOk) return exit_code;
  while (!prompt.empty() && prompt.back() == '\n') prompt.pop_back();
  if (prompt.empty()) return report_usage("got no question on standard input, or -p", "chat");
  return kExitOk;
}

int prepare(ChatOptions& options, ChatSession& session) {
  if (!options.messages_file.empty()) {
    const int exit_code = session.conversation().load(options.messages_file);
    if (exit_code != kExitOk) return exit_code;
  }
  const int exit_code = session.restore();
  if (exit_code == kExitOk && !options.system.empty())
    session.conversation().set_system(options.system);
  return exit_code;
}

int chat(ChatOptions& options) {
  std::string prompt;
  bool is_repl = false;
  int exit_code = read_prompt(options, prompt, is_repl);
  if (exit_code == kExitOk)
    exit_code = collect_text_options(options.text, options.settings.options);
  if (exit_code == kExitOk && !options.tools_file.empty())
    exit_code = read_input(options.tools_file, options.settings.tools);
  if (!options.tool_choice.empty())
    options.settings.options.emplace_back("tool_choice", options.tool_choice);
  // Beside the messages lie the states of the model, so that they are not read again.
  if (options.text.cache_dir.empty() && !options.settings.state_file.empty())
    options.text.cache_dir = options.settings.state_file + ".kv";
  Runtime runtime;
  if (exit_code == kExitOk) exit_code = open_text_runtime(options.text, "chat", runtime);
  if (exit_code != kExitOk) return exit_code;
  ChatSession session(runtime, options.settings);
  exit_code = prepare(options, session);
  if (exit_code != kExitOk) return exit_code;
  if (is_repl) return run_chat_repl(session);
  if (!prompt.empty()) session.conversation().add_user(prompt);
  exit_code = session.reply();
  const int kept = session.conversation().ends_with_user() ? kExitOk : session.keep();
  return exit_code != kExitOk ? exit_code : kept;
}

}  // namespace

void add_chat_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* command = app.add_subcommand("chat", "Text chat");
  with_env(command->add_option("-p,--prompt", options->prompt,
                               "One question, one reply; - reads it from standard input"));
  with_env(command->add_option("--system", options->system, "The system prompt"));
  with_env(command->add_option("--messages", options->messages_file,
                               "File with the messages so far, a JSON array as in OpenAI's API"));
  with_env(command->add_option("--tools", options->tools_file,
                               "File with the tools, a JSON array as in OpenAI's API"));
  with_env(command->add_option("--tool-choice", options->tool_choice,
                               "auto (the default), none, required, or a tool's name"));
  with_env(command->add_option("--think", options->settings.thinking,
                               "Reasoning: on, off, or at most so many tokens"));
  with_env(command->add_flag("--show-thinking", options->settings.show_thinking,
                             "Print the reasoning on stderr"));
  with_env(command->add_flag("--json", options->settings.print_json,
                             "Print the answer in the form of OpenAI's API"));
  with_env(command->add_option(
      "--state", options->settings.state_file,
      "File that keeps the conversation; the folder FILE.kv keeps the model's states"));
  with_env(command->add_option("--chat-template", options->text.chat_template,
                               "A built-in template's name or a file, instead of the model's"));
  add_text_flags(*command, options->text);
  command->footer(
      "On a terminal without -p this is a conversation; /help lists its commands.\n"
      "Example:\n"
      "  rill chat -m LFM2.5-350M-Q4_0.gguf\n"
      "  rill chat -m LFM2.5-350M-Q4_0.gguf -p \"Why is the sky blue?\" --temp 0");
  command->callback([options, &exit_code] { exit_code = chat(*options); });
}

}  // namespace rill::cli
