// SPDX-License-Identifier: Apache-2.0
// Writing results: to stdout and to files, with every write checked.
#pragma once

#include <string>
#include <string_view>

namespace rill::cli {

/// Writes text to stdout and flushes. Returns 0, or the exit code to end with: a reader that closed
/// its end of the pipe has all that it wants, which is not a failure, so the program ends quietly
/// with 0 (see stdout_closed()).
int write_stdout(std::string_view text);

/// True once a write found that nobody reads stdout any more.
[[nodiscard]] bool stdout_closed();

/// Writes a whole file, replacing an earlier one. Returns 0, or an exit code after printing why.
int write_file(const std::string& path, std::string_view text);

/// The text, with a newline at its end if it had none.
[[nodiscard]] std::string with_final_newline(std::string text);

}  // namespace rill::cli
