// SPDX-License-Identifier: Apache-2.0
// In a file of its own, so that the compiler does not see both sides of a new and delete pair.
#include "unit/session/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> g_num_allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++g_num_allocations;
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new(size_t size, std::align_val_t alignment) {
  ++g_num_allocations;
  const auto unit = static_cast<size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (size + unit) / unit * unit);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace rill::test {

size_t num_allocations() { return g_num_allocations; }

}  // namespace rill::test
