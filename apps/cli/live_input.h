// SPDX-License-Identifier: Apache-2.0
// LiveInput: bytes that come in while the program computes, so that whoever writes them need not
// wait. Nothing is dropped: past about a minute of sound the writer waits after all, but a
// microphone cannot.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>

namespace rill::cli {

/// Fills samples (16-bit) and sets the count; less than all is the end. Returns 0, or an exit code
/// after printing why.
using CaptureFn = std::function<int(std::span<int16_t> samples, size_t* count)>;

/// Threading: one thread calls it; another one, its own, reads.
class LiveInput {
 public:
  LiveInput() = default;
  ~LiveInput();
  LiveInput(const LiveInput&) = delete;
  LiveInput& operator=(const LiveInput&) = delete;

  /// Opens a file, or standard input for "-", and begins to read. Returns 0, or an exit code after
  /// printing why.
  int open(const std::string& path);
  /// Begins to take the samples of a device, instead of a file.
  void open(CaptureFn capture);
  /// Waits for bytes and takes up to `size` of them; 0 at the end. A signal is the end of a file at
  /// once; of a device, what was captured before still comes.
  size_t read(void* data, size_t size);
  /// The next bytes without taking them: `size` of them, or fewer if the input ends before.
  std::string peek(size_t size);
  /// Returns 0, or an exit code after printing why reading failed.
  int check() const;

 private:
  void start();
  void fill();
  // Waits a moment for the next bytes; false at the end or after an error.
  bool read_file(std::span<char> piece, size_t* count);
  bool read_device(std::span<char> piece, size_t* count);
  [[nodiscard]] bool is_cut_off() const;
  // Waits for so many bytes, the end, or a signal.
  void wait_for(std::unique_lock<std::mutex>& lock, size_t size);

  std::string path_;
  int descriptor_ = -1;
  CaptureFn capture_;
  std::thread reader_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  size_t taken_ = 0;  // from the front of bytes_
  bool at_end_ = false;
  bool stop_ = false;
  int error_ = 0;  // errno of a failed read, or the device's exit code; set before at_end_
};

}  // namespace rill::cli
