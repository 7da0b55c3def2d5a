// SPDX-License-Identifier: Apache-2.0
#include "log_sink.h"

#include <algorithm>
#include <string_view>

namespace rill::cli {
namespace {

const char* level_name(rill_log_level level) {
  switch (level) {
    case RILL_LOG_DEBUG:
      return "debug";
    case RILL_LOG_INFO:
      return "info";
    case RILL_LOG_WARNING:
      return "warning";
    case RILL_LOG_ERROR:
      return "error";
  }
  return "message";
}

}  // namespace

void LogSink::set_verbosity(int verbosity) {
  if (verbosity == 1) stderr_level_ = RILL_LOG_INFO;
  if (verbosity >= 2) stderr_level_ = file_level_ = RILL_LOG_DEBUG;
}

bool LogSink::open_file(const std::string& path) {
  file_.reset(std::fopen(path.c_str(), "a"));
  return file_ != nullptr;
}

rill_log_level LogSink::min_level() const {
  return file_ != nullptr ? std::min(stderr_level_, file_level_) : stderr_level_;
}

void LogSink::write(void* user, rill_log_level level, const char* message, size_t size) {
  const auto* sink = static_cast<const LogSink*>(user);
  std::string line = std::string("rill: ") + level_name(level) + ": ";
  line.append(message, size);
  line += '\n';
  // One fwrite per line: the C library's stream lock keeps lines of several threads whole.
  if (level >= sink->stderr_level_) std::fwrite(line.data(), 1, line.size(), stderr);
  if (sink->file_ != nullptr && level >= sink->file_level_) {
    std::fwrite(line.data(), 1, line.size(), sink->file_.get());
    std::fflush(sink->file_.get());
  }
}

}  // namespace rill::cli
