// SPDX-License-Identifier: Apache-2.0
#include "exit_codes.h"

#include <cstdio>

namespace rill::cli {

void print_message(const std::string& message) {
  std::string line = "rill: " + message;
  // One line whatever a file name or a model's metadata holds.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int report(int exit_code, const std::string& message) {
  print_message(message);
  return exit_code;
}

int report_usage(const std::string& message, const std::string& command) {
  print_message(message);
  std::fprintf(stderr, "Try 'rill%s%s --help'.\n", command.empty() ? "" : " ", command.c_str());
  return kExitUsage;
}

int report(rill_status status, const ErrorSlot& error) {
  print_message(rill_error_message(error.get()));
  return rill_status_exit_code(status);
}

}  // namespace rill::cli
