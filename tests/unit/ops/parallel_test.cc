// SPDX-License-Identifier: Apache-2.0
#include "ops/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
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
      parallel_runs(context, count, [&](size_t begin, size_t end, size_t worker) {
        EXPECT_LT(begin, end);
        EXPECT_LT(worker, threads);
        for (size_t item = begin; item < end; ++item) taken.at(item).fetch_add(1);
      });
      for (size_t i = 0; i < count; ++i)
        EXPECT_EQ(taken[i].load(), 1) << "item " << i << " of " << count << ", " << threads;
    }
  }
}

// A range ends at the latest where its thread's part does, and leaves a third of what was left.
TEST(Parallel, RunsBecomeShorter) {
  auto pool = ThreadPool::create(1).value();
  Context context;
  context.pool = pool.get();
  std::vector<size_t> lengths;
  parallel_runs(context, 27,
                [&](size_t begin, size_t end, size_t) { lengths.push_back(end - begin); });
  EXPECT_EQ(lengths, (std::vector<size_t>{18, 6, 2, 1}));
}

// Each item waits for all others, so that every thread has to take one.
TEST(Parallel, RunsUseEveryThread) {
  constexpr size_t kThreads = 70;  // more than there are ranges
  auto pool = ThreadPool::create(kThreads).value();
  Context context;
  context.pool = pool.get();
  std::atomic<size_t> arrived{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_runs(context, kThreads, [&](size_t begin, size_t end, size_t) {
    EXPECT_EQ(end - begin, 1u);
    arrived.fetch_add(1);
    while (arrived.load() % kThreads != 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
  });
  EXPECT_LT(std::chrono::steady_clock::now(), deadline) << "a thread was left out";
}

}  // namespace
}  // namespace rill::ops
