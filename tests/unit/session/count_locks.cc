// SPDX-License-Identifier: Apache-2.0
// Stands in front of the system's mutex and counts its use. glibc only, and not under sanitizers,
// which do the same.
#include <mutex>

#include "unit/session/count_allocations.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RILL_COUNT_LOCKS 1
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace {
std::atomic<size_t> g_num_locks = 0;
}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(
    pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock next = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++g_num_locks;
  return next(mutex);
}
#endif

namespace rill::test {

#ifdef RILL_COUNT_LOCKS
bool counts_locks() { return true; }
size_t num_locks() { return g_num_locks; }
#else
bool counts_locks() { return false; }
size_t num_locks() { return 0; }
#endif

void take_a_lock() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
}

}  // namespace rill::test
