// SPDX-License-Identifier: Apache-2.0
// AtomicFile over POSIX files.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/str_cat.h"

namespace rill {
namespace {

Error write_error(const std::string& path, const char* step, int number) {
  const ErrorCode code =
      number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, cat("write file: ", printable(path, 4096), ": ", step, ": ",
                         std::generic_category().message(number))};
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  fd_ = -1;
  temporary_.clear();
}

Error AtomicFile::failure(const char* step, int number) const {
  return write_error(path_, step, number);
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return write_error(path, "create", EINVAL);
  // O_EXCL: never follows a link or joins another writer. A stale name of a killed process is
  // passed over.
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = cat(path, ".tmp", static_cast<long long>(::getpid()), "-", attempt);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return AtomicFile(path, std::move(temporary), fd);
    if (errno != EEXIST) return write_error(path, "create", errno);
  }
  return write_error(path, "create", EEXIST);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  RILL_CHECK(fd_ >= 0, "AtomicFile::write after commit");
  while (!bytes.empty()) {
    // Some systems refuse more than 2 GiB at a time.
    const ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure("write", errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::commit() {
  RILL_CHECK(fd_ >= 0, "AtomicFile::commit twice");
  if (::fsync(fd_) != 0) return failure("flush", errno);
  if (::close(std::exchange(fd_, -1)) != 0) return failure("close", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("rename", errno);
  temporary_.clear();
  return {};
}

}  // namespace rill
