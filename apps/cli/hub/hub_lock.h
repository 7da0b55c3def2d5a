// SPDX-License-Identifier: Apache-2.0
// A lock between processes, on a file, as Hugging Face's tools take it.
#pragma once

#include <filesystem>
#include <functional>

namespace rill::cli::hub {

class FileLock {
 public:
  /// Takes the lock; if another process has it, calls `wait` now and then.
  /// Throws HubError if the file cannot be made, and whatever wait throws.
  FileLock(const std::filesystem::path& path, const std::function<void()>& wait);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace rill::cli::hub
