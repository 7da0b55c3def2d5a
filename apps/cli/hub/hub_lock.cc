// SPDX-License-Identifier: Apache-2.0
#include "hub_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "hub_cache.h"

namespace rill::cli::hub {

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& wait) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw_io("create", path.parent_path(), error.message());
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw_io("open", path, std::strerror(errno));
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    try {
      if (reason != EWOULDBLOCK && reason != EINTR) throw_io("lock", path, std::strerror(reason));
      wait();
    } catch (...) {
      ::close(file_);
      throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

FileLock::~FileLock() { ::close(file_); }

}  // namespace rill::cli::hub
