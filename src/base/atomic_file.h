// SPDX-License-Identifier: Apache-2.0
// AtomicFile: writes a file under a temporary name in the same folder and renames it when it is
// complete, so that a reader (or a crash) never meets half a file. Implementation per system:
// atomic_file_posix.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace rill {

/// A file that is being written; move-only. Without commit() the temporary file is removed.
class AtomicFile {
 public:
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  ~AtomicFile();

  /// Starts the file that will replace or become `path`.
  /// Errors: kNotFound (no such folder), kIo; the path is named.
  static Result<AtomicFile> create(const std::string& path);
  /// Appends. Errors: kIo (disk full, ...).
  Status write(std::span<const std::byte> bytes);
  /// Flushes to the disk and gives the file its name. Nothing may follow. Errors: kIo.
  Status commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  [[nodiscard]] Error failure(const char* step, int number) const;
  void discard();

  std::string path_;
  std::string temporary_;  // empty once committed or moved from
  int fd_ = -1;
};

}  // namespace rill
