// SPDX-License-Identifier: Apache-2.0
#include "ops/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace rill::ops {
namespace {

// Every item once, whatever the number of threads and items: fewer items than threads, none, and
// more threads than there are ranges.
TEST(Parallel, RunsTakeEveryItemOnce) {
  for (const size_t threads : {1u, 2u, 3u, 70u}) {
    auto pool = ThreadPool::create(threads).value();
    Context context;
    context.pool = pool.get();
    for (const size_t count : {0u, 1u, 2u, 5u, 63u, 200u, 1000u}) {
      std::vector<std::atomic<int>> taken(count);
      parallel_runs(context, count, [&](size_t item) { taken.at(item).fetch_add(1); });
      for (size_t i = 0; i < count; ++i)
        EXPECT_EQ(taken[i].load(), 1) << "item " << i << " of " << count << ", " << threads;
    }
  }
}

}  // namespace
}  // namespace rill::ops
