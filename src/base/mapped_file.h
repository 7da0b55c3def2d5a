// SPDX-License-Identifier: Apache-2.0
// MappedFile: a read-only memory mapping of a whole file. Implementation per system:
// mapped_file_posix.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace rill {

/// A file mapped for reading; move-only.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// Maps a regular file.
  /// Errors: kNotFound (no such file), kIo (a directory, a device, no permission, mmap failed); the
  /// path is named.
  static Result<MappedFile> open(const std::string& path);

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }

  /// Tells the system that a part will not be read again, so that its pages may be dropped.
  void release_pages(size_t offset, size_t size_bytes) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace rill
