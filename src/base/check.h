// SPDX-License-Identifier: Apache-2.0
// Checks for broken invariants. They must be unreachable from input: untrusted input goes through
// Result.
#pragma once

namespace rill {

/// Called with file, line and reason before the process aborts.
using PanicHandler = void (*)(const char* file, int line, const char* reason);

/// Installs a panic handler (nullptr restores the default, which writes one line to stderr).
void set_panic_handler(PanicHandler handler);

/// Reports a broken invariant and aborts.
[[noreturn]] void panic(const char* file, int line, const char* reason);

}  // namespace rill

/// Active in release builds.
#define RILL_CHECK(cond, why)                              \
  do {                                                     \
    if (!(cond)) ::rill::panic(__FILE__, __LINE__, (why)); \
  } while (false)

/// For hot paths: compiled out when NDEBUG is defined.
#ifdef NDEBUG
#define RILL_DCHECK(cond, why) \
  do {                         \
  } while (false)
#else
#define RILL_DCHECK(cond, why) RILL_CHECK(cond, why)
#endif
