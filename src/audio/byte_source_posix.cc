// SPDX-License-Identifier: Apache-2.0
// FileSource over POSIX descriptors.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "audio/byte_source.h"
#include "base/str_cat.h"

namespace rill::audio {
namespace {

std::string reason(int error_number) { return std::generic_category().message(error_number); }

// What a path is when it is nothing that audio can be read from; empty for files and pipes.
std::string_view unreadable_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device";
  if (S_ISSOCK(mode)) return "is a socket";
  return "";
}

// Waits until the descriptor has something to read or is at its end; false if the flag came first.
bool wait_for_input(int descriptor, const std::atomic<bool>& cancel) {
  constexpr int kWaitMs = 50;
  while (!cancel.load()) {
    pollfd wanted = {descriptor, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, kWaitMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // trouble is for read() to report
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<FileSource>> FileSource::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return Error{ErrorCode::kNotFound,
                 cat("open audio: ", printable(path), ": the path holds a zero byte")};
  }
  const std::string context = cat("open audio: ", printable(path, 4096), ": ");
  struct stat info = {};
  // Looked at before it is opened: opening some devices has effects, and a pipe's opening may wait.
  if (::stat(path.c_str(), &info) != 0) {
    const int error_number = errno;
    const bool missing = error_number == ENOENT || error_number == ENOTDIR;
    return Error{missing ? ErrorCode::kNotFound : ErrorCode::kIo,
                 cat(context, missing ? "no such file" : reason(error_number))};
  }
  if (const std::string_view kind = unreadable_kind(info.st_mode); !kind.empty()) {
    return Error{ErrorCode::kIo, cat(context, kind, ", expected an audio file")};
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Error{ErrorCode::kIo, cat(context, reason(errno))};
  std::unique_ptr<FileSource> source(new FileSource(descriptor, true, path));
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
    source->size_bytes_ = static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
  }
  return source;
}

std::unique_ptr<FileSource> FileSource::from_descriptor(int descriptor, std::string name) {
  return std::unique_ptr<FileSource>(new FileSource(descriptor, false, std::move(name)));
}

std::unique_ptr<FileSource> FileSource::standard_input() {
  return from_descriptor(STDIN_FILENO, "standard input");
}

FileSource::~FileSource() {
  if (owned_) ::close(descriptor_);
}

Result<size_t> FileSource::read(std::span<std::byte> out) {
  if (out.empty()) return size_t{0};
  const size_t wanted = std::min<size_t>(out.size(), size_t{1} << 30);
  while (true) {
    if (cancel_ != nullptr && !has_random_access() && !wait_for_input(descriptor_, *cancel_))
      return Error{ErrorCode::kCancelled,
                   cat("read audio: ", printable(name_, 4096), ": cancelled")};
    const ssize_t got = ::read(descriptor_, out.data(), wanted);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    return Error{ErrorCode::kIo, cat("read audio: ", printable(name_, 4096), ": ", reason(errno))};
  }
}

Result<size_t> FileSource::read_at(uint64_t offset, std::span<std::byte> out) {
  if (!has_random_access()) return ByteSource::read_at(offset, out);
  if (out.empty() || offset >= *size_bytes_) return size_t{0};
  const size_t wanted = std::min<size_t>(out.size(), size_t{1} << 30);
  while (true) {
    const ssize_t got = ::pread(descriptor_, out.data(), wanted, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    return Error{ErrorCode::kIo, cat("read audio: ", printable(name_, 4096), ": ", reason(errno))};
  }
}

}  // namespace rill::audio
