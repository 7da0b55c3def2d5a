// SPDX-License-Identifier: Apache-2.0
// MappedFile over POSIX mmap.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/mapped_file.h"
#include "base/str_cat.h"

namespace rill {
namespace {

Error system_error(const std::string& path, const char* step, int number) {
  const ErrorCode code =
      number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, cat("open file: ", printable(path, 4096), ": ", step, ": ",
                         std::generic_category().message(number))};
}

// Closes the descriptor on every way out; the mapping outlives it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  // Text with a NUL would silently name another file.
  if (path.find('\0') != std::string::npos) return system_error(path, "open", EINVAL);
  // O_NONBLOCK: opening a FIFO must fail below, not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error(path, "open", errno);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return system_error(path, "stat", errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kIo, cat("open file: ", printable(path, 4096), ": got ",
                                     S_ISDIR(info.st_mode) ? "a directory" : "a special file",
                                     ", expected a regular file")};
  }
  if (static_cast<uint64_t>(info.st_size) > SIZE_MAX) return system_error(path, "map", EFBIG);
  MappedFile mapped;
  if (info.st_size == 0) return mapped;
  const auto size_bytes = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return system_error(path, "map", errno);
  mapped.data_ = static_cast<const std::byte*>(data);
  mapped.size_bytes_ = size_bytes;
  return mapped;
}

void MappedFile::release_pages(size_t offset, size_t size_bytes) const {
  if (data_ == nullptr || offset >= size_bytes_ || size_bytes > size_bytes_ - offset) return;
  // Only pages that lie inside the range whole: neighbours may still be needed.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = (offset + size_bytes) / page * page;
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace rill
