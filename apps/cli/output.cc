// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "exit_codes.h"

namespace rill::cli {
namespace {

bool g_stdout_closed = false;

bool write_all(std::FILE* file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

}  // namespace

int write_stdout(std::string_view text) {
  if (g_stdout_closed || write_all(stdout, text)) return kExitOk;
  if (errno == EPIPE) {
    g_stdout_closed = true;
    return kExitOk;
  }
  return report(kExitFailed, std::string("write standard output: ") + std::strerror(errno));
}

bool stdout_closed() { return g_stdout_closed; }

int write_file(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && write_all(file, text);
  const int error = errno;
  const bool closed = file == nullptr || std::fclose(file) == 0;
  if (written && closed) return kExitOk;
  return report(kExitFailed, "write " + path + ": " + std::strerror(written ? errno : error));
}

std::string with_final_newline(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

}  // namespace rill::cli
