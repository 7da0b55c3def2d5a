// SPDX-License-Identifier: Apache-2.0
// Arena: scratch memory for one forward pass. Memory is kept between passes, so that a steady state
// of equal-sized steps never touches the heap.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"

namespace rill {

/// A stack of 64-byte aligned pieces. Threading: one thread.
class Arena {
 public:
  /// Pieces taken while a Scope lives are given back when it ends.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_) {}
    ~Scope() {
      arena_.block_ = block_;
      arena_.used_ = used_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t block_;
    size_t used_;
  };

  /// Uninitialised room for `count` elements of T.
  /// Errors: kOutOfMemory. Lifetime: until the enclosing Scope ends.
  template <typename T>
  Result<std::span<T>> take(size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > static_cast<size_t>(-1) / sizeof(T) - AlignedBuffer::kAlignment) {
      return Error{ErrorCode::kOutOfMemory,
                   "scratch memory: the size does not fit the address space"};
    }
    RILL_ASSIGN_OR_RETURN(std::byte * memory, take_bytes(count * sizeof(T)));
    return std::span<T>(reinterpret_cast<T*>(memory), count);
  }

  /// Bytes held from the system.
  [[nodiscard]] size_t reserved_bytes() const;

  /// Gives all memory back to the system. Only outside any Scope.
  void release();

 private:
  Result<std::byte*> take_bytes(size_t size_bytes);

  std::vector<AlignedBuffer> blocks_;
  size_t block_ = 0;  // index of the block that is being filled
  size_t used_ = 0;   // bytes used of it
};

}  // namespace rill
