// SPDX-License-Identifier: Apache-2.0
// Counts what the program takes from the heap through operator new, and the mutexes that it locks.
// Linked into a test program, it counts from the start.
#pragma once

#include <cstddef>

namespace rill::test {

[[nodiscard]] size_t num_allocations();

/// 0 in builds that cannot count locks.
[[nodiscard]] size_t num_locks();
[[nodiscard]] bool counts_locks();
/// Locks a mutex once, to see that it is counted.
void take_a_lock();

}  // namespace rill::test
