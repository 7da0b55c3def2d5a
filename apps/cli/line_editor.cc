// SPDX-License-Identifier: Apache-2.0
#include "line_editor.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "interrupt.h"
#include "output.h"

#ifdef RILL_HAS_LIBEDIT
#include <editline/readline.h>
#endif

namespace rill::cli {

std::string chat_history_file() {
  std::filesystem::path folder;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".local" / "state";
  } else {
    return "";
  }
  std::error_code failed;
  std::filesystem::create_directories(folder / "rill", failed);
  return failed ? "" : (folder / "rill" / "chat_history").string();
}

#ifdef RILL_HAS_LIBEDIT

LineEditor::LineEditor(std::string history_file) : history_file_(std::move(history_file)) {
  using_history();
  stifle_history(1000);
  if (!history_file_.empty()) read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
  if (!history_file_.empty()) write_history(history_file_.c_str());
}

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  const InterruptInput interruptible;
  char* read = readline(prompt.c_str());
  if (interrupt_exit_code() != 0) {
    std::free(read);
    return Outcome::kInterrupted;
  }
  if (read == nullptr) return Outcome::kEnd;
  line = read;
  std::free(read);
  return Outcome::kLine;
}

void LineEditor::remember(const std::string& line) {
  if (!line.empty() && line.find('\n') == std::string::npos) add_history(line.c_str());
}

#else

LineEditor::LineEditor(std::string history_file) : history_file_(std::move(history_file)) {}
LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  const InterruptInput interruptible;
  write_stdout(prompt);
  line.clear();
  char c = 0;
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) return Outcome::kInterrupted;
    if (got <= 0) return line.empty() ? Outcome::kEnd : Outcome::kLine;
    if (c == '\n') return Outcome::kLine;
    line += c;
  }
}

void LineEditor::remember(const std::string&) {}

#endif

}  // namespace rill::cli
