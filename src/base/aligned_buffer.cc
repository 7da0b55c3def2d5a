// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/str_cat.h"
#include "base/system.h"

namespace rill {

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    std::free(block_);
    block_ = std::exchange(other.block_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { std::free(block_); }

Result<AlignedBuffer> AlignedBuffer::create(size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  const size_t alignment = size_bytes >= kHugePageBytes ? kHugePageBytes : kAlignment;
  if (size_bytes > static_cast<size_t>(-1) - alignment) return too_large();
  // Not aligned_alloc: up to glibc 2.37 it cannot reuse a freed block for the next one of its size,
  // so that a heap in steady use would grow for ever.
  void* block = std::malloc(size_bytes + alignment);
  if (block == nullptr) {
    return Error{ErrorCode::kOutOfMemory,
                 cat("allocate buffer: ", size_bytes, " bytes are not available")};
  }
  const auto address = reinterpret_cast<uintptr_t>(block);
  buffer.block_ = block;
  buffer.data_ = static_cast<std::byte*>(block) + (alignment - address % alignment) % alignment;
  buffer.size_bytes_ = size_bytes;
  if (size_bytes >= kHugePageBytes) system::advise_huge_pages(buffer.data_, size_bytes);
  return buffer;
}

Result<AlignedBuffer> AlignedBuffer::create_zeroed(size_t size_bytes) {
  RILL_ASSIGN_OR_RETURN(AlignedBuffer buffer, create(size_bytes));
  if (size_bytes > 0) std::memset(buffer.data(), 0, size_bytes);
  return buffer;
}

Error AlignedBuffer::too_large() {
  return Error{ErrorCode::kOutOfMemory, "allocate buffer: the size does not fit the address space"};
}

}  // namespace rill
