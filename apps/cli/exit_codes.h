// SPDX-License-Identifier: Apache-2.0
// Exit codes of the command line and how a failure is reported. docs/errors.md has the table.
#pragma once

#include <string>

#include "handles.h"

namespace rill::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreadable = 3;
inline constexpr int kExitResources = 4;  ///< out of memory, or the processor lacks something

/// Prints "rill: message" on stderr, as one line.
void print_message(const std::string& message);

/// Prints the message. Returns exit_code.
int report(int exit_code, const std::string& message);

/// Prints the message and where help is: at "rill COMMAND --help". Returns kExitUsage.
int report_usage(const std::string& message, const std::string& command = "");

/// Prints the error of a library call. Returns the exit code that belongs to its status.
int report(rill_status status, const ErrorSlot& error);

}  // namespace rill::cli
