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

#include "exit_codes.h"
#include "interrupt.h"

namespace rill::cli {
namespace {

// About a minute of 16-bit mono at 16 kHz.
constexpr size_t kMostBytes = size_t{2} << 20;
// How often a wait looks for a signal or the end of the program.
constexpr int kPollMs = 100;

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
  const SignalsBlocked signals_blocked;
  reader_ = std::thread([this] { fill(); });
  return kExitOk;
}

void LiveInput::fill() {
  std::array<char, 1 << 14> piece{};
  while (true) {
    pollfd waiting = {descriptor_, POLLIN, 0};
    const int ready = poll(&waiting, 1, kPollMs);
    ssize_t got = -1;
    if (ready > 0) {
      got = ::read(descriptor_, piece.data(), piece.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (stop_) return;
    if (ready <= 0) continue;
    if (got <= 0) {
      error_ = got < 0 ? errno : 0;
      at_end_ = true;
      changed_.notify_all();
      return;
    }
    bytes_.append(piece.data(), static_cast<size_t>(got));
    changed_.notify_all();
    changed_.wait(lock, [this] { return stop_ || bytes_.size() - taken_ < kMostBytes; });
    if (stop_) return;
  }
}

void LiveInput::wait_for(std::unique_lock<std::mutex>& lock, size_t size) {
  while (bytes_.size() - taken_ < size && !at_end_ && interrupt_exit_code() == 0)
    changed_.wait_for(lock, std::chrono::milliseconds(kPollMs));
}

size_t LiveInput::read(void* data, size_t size) {
  std::unique_lock<std::mutex> lock(mutex_);
  wait_for(lock, 1);
  if (interrupt_exit_code() != 0) return 0;
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
  if (error_ == 0) return kExitOk;
  return report(kExitUnreadable, path_ + ": " + std::strerror(error_));
}

}  // namespace rill::cli
