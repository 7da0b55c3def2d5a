// SPDX-License-Identifier: Apache-2.0
// Where the library's messages go: stderr, and a file if --log-file names one.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "rill/rill.h"

namespace rill::cli {

class LogSink {
 public:
  /// verbosity: 0 shows warnings on stderr, 1 also information, 2 also debug messages.
  void set_verbosity(int verbosity);
  /// Appends all messages (from information on) to a file. Returns false, with errno set, if it
  /// does not open.
  bool open_file(const std::string& path);

  /// The least level that somebody wants.
  [[nodiscard]] rill_log_level min_level() const;
  /// A rill_log_fn; user is the LogSink.
  static void write(void* user, rill_log_level level, const char* message, size_t size);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  rill_log_level stderr_level_ = RILL_LOG_WARNING;
  rill_log_level file_level_ = RILL_LOG_INFO;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace rill::cli
