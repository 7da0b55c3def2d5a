// SPDX-License-Identifier: Apache-2.0
#include "live_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "exit_codes.h"
#include "interrupt.h"

namespace rill::cli {
namespace {

// About a minute of 16-bit mono at 16 kHz.
constexpr size_t kMostBytes = size_t{2} << 20;
// How often a wait looks for a signal or the end of the program.
constexpr int kPollMs = 100;
constexpr size_t kDeviceSamples = 1600;  // 0.1 s

}  // namespace

LiveInput::~LiveInput() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (reader_.joinable()) reader_.join();
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

int LiveInput::open(const std::string& path) {
  path_ = path == "-" ? "standard input" : path;
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) return report(kExitUnreadable, path + ": " + std::strerror(errno));
  start();
  return kExitOk;
}

void LiveInput::open(CaptureFn capture) {
  capture_ = std::move(capture);
  start();
}

void LiveInput::start() {
  const SignalsBlocked signals_blocked;
  reader_ = std::thread([this] { fill(); });
}

bool LiveInput::read_file(std::span<char> piece, size_t* count) {
  pollfd waiting = {descriptor_, POLLIN, 0};
  if (poll(&waiting, 1, kPollMs) <= 0) return true;
  const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got < 0) error_ = errno;
  *count = static_cast<size_t>(std::max<ssize_t>(got, 0));
  return got > 0;
}

bool LiveInput::read_device(std::span<char> piece, size_t* count) {
  std::array<int16_t, kDeviceSamples> samples{};
  size_t captured = 0;
  error_ = capture_(samples, &captured);
  *count = captured * sizeof(int16_t);
  std::memcpy(piece.data(), samples.data(), *count);
  return error_ == kExitOk && captured == samples.size();
}

void LiveInput::fill() {
  std::array<char, 1 << 14> piece{};
  static_assert(sizeof(piece) >= kDeviceSamples * sizeof(int16_t));
  bool told = false;
  while (true) {
    size_t count = 0;
    const bool more = capture_ ? read_device(piece, &count) : read_file(piece, &count);
    std::unique_lock<std::mutex> lock(mutex_);
    if (stop_) return;
    bytes_.append(piece.data(), count);
    at_end_ = !more;
    changed_.notify_all();
    if (at_end_) return;
    const bool is_full = bytes_.size() - taken_ >= kMostBytes;
    if (is_full && capture_ && !std::exchange(told, true))
      print_message("the transcription is too slow: part of what is said is lost");
    changed_.wait(lock, [this] { return stop_ || bytes_.size() - taken_ < kMostBytes; });
    if (stop_) return;
  }
}

bool LiveInput::is_cut_off() const { return !capture_ && interrupt_exit_code() != 0; }

void LiveInput::wait_for(std::unique_lock<std::mutex>& lock, size_t size) {
  while (bytes_.size() - taken_ < size && !at_end_ && !is_cut_off())
    changed_.wait_for(lock, std::chrono::milliseconds(kPollMs));
}

size_t LiveInput::read(void* data, size_t size) {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_for(lock, 1);
  if (is_cut_off()) return 0;
  const size_t count = std::min(size, bytes_.size() - taken_);
  std::memcpy(data, bytes_.data() + taken_, count);
  taken_ += count;
  if (taken_ > bytes_.size() / 2) {
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  changed_.notify_all();
  return count;
}

std::string LiveInput::peek(size_t size) {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_for(lock, size);
  return bytes_.substr(taken_, size);
}

int LiveInput::check() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (error_ == 0 || capture_) return error_;  // a device has said why
  return report(kExitUnreadable, path_ + ": " + std::strerror(error_));
}

}  // namespace rill::cli
