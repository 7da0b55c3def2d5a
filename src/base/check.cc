// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace rill {
namespace {

std::atomic<PanicHandler> g_panic_handler{nullptr};

}  // namespace

void set_panic_handler(PanicHandler handler) { g_panic_handler.store(handler); }

void panic(const char* file, int line, const char* reason) {
  if (PanicHandler handler = g_panic_handler.load()) {
    handler(file, line, reason);
  } else {
    std::fprintf(stderr, "rill: broken invariant: %s:%d: %s\n", file, line, reason);
  }
  std::abort();
}

}  // namespace rill
