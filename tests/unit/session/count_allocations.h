// SPDX-License-Identifier: Apache-2.0
// Counts what the program takes from the heap through operator new. Linked into a test program, it
// counts from the start.
#pragma once

#include <cstddef>

namespace rill::test {

[[nodiscard]] size_t num_allocations();

}  // namespace rill::test
