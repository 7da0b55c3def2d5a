// SPDX-License-Identifier: Apache-2.0
// Logger: the one way out for messages. The library never prints; an application installs a sink.
#pragma once

#include <string_view>

#include "base/str_cat.h"

namespace rill {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// A sink and the least level that reaches it; a value, passed by pointer. Without a sink nothing
/// happens.
struct Logger {
  void (*sink)(void* user, LogLevel level, std::string_view message) = nullptr;
  void* user = nullptr;
  LogLevel min_level = LogLevel::kInfo;

  template <typename... Pieces>
  void log(LogLevel level, const Pieces&... pieces) const {
    if (sink != nullptr && level >= min_level) sink(user, level, cat(pieces...));
  }
};

}  // namespace rill
