// SPDX-License-Identifier: Apache-2.0
// AlignedBuffer: owns the large allocations (weights, KV, activations, PCM), whose failure is a
// Result.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace rill {

/// A move-only block of bytes, aligned to 64 bytes; from kHugePageBytes on it starts at a huge
/// page.
class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;
  /// The usual size of a huge page. Each small page costs a fault and slower reads.
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  /// Allocates size_bytes, uninitialised. Zero bytes give an empty buffer.
  /// Errors: kOutOfMemory, with the size in the message.
  static Result<AlignedBuffer> create(size_t size_bytes);
  /// The same, filled with zeros.
  static Result<AlignedBuffer> create_zeroed(size_t size_bytes);
  /// Room for `count` elements of T, overflow-checked.
  template <typename T>
  static Result<AlignedBuffer> create_for(size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > static_cast<size_t>(-1) / sizeof(T)) return too_large();
    return create(count * sizeof(T));
  }

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] size_t size_bytes() const { return size_bytes_; }
  template <typename T>
  [[nodiscard]] std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_bytes_ / sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), size_bytes_ / sizeof(T)};
  }

 private:
  static Error too_large();

  void* block_ = nullptr;  // what malloc gave; data_ is aligned inside it
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace rill
