// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

namespace rill::test {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const size_t threads : std::initializer_list<size_t>{1, 2, 3, 8}) {
    const auto pool = ThreadPool::create(threads);
    ASSERT_TRUE(pool.has_value());
    EXPECT_EQ((*pool)->num_threads(), threads);
    for (const size_t count : std::initializer_list<size_t>{0, 1, 2, 7, 1000}) {
      std::vector<int> calls(count, 0);
      (*pool)->parallel_for(count, [&](size_t index) { ++calls[index]; });
      for (const int c : calls) ASSERT_EQ(c, 1);
    }
  }
}

TEST(ThreadPool, SeesEarlierWritesAndShowsItsOwn) {
  const auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.has_value());
  // Plain memory: the thread sanitizer would report a missing order between runs.
  std::vector<size_t> values(64, 0);
  for (size_t round = 1; round <= 3000; ++round) {
    for (size_t& value : values) ++value;
    (*pool)->parallel_for(values.size(), [&](size_t index) { values[index] += round; });
    if (round % 500 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // lets the threads park
  }
  for (const size_t value : values) EXPECT_EQ(value, 3000U + 3000U * 3001U / 2);
}

TEST(ThreadPool, KeepsRunsOfDifferentSizesApart) {
  const auto pool = ThreadPool::create(6);
  ASSERT_TRUE(pool.has_value());
  for (size_t round = 0; round < 3000; ++round) {
    const size_t count = 2 + round * 7 % 23;
    std::atomic<size_t> sum{0};
    (*pool)->parallel_for(count, [&](size_t index) { sum += index + 1; });
    ASSERT_EQ(sum.load(), count * (count + 1) / 2);
  }
}

TEST(ThreadPool, UsesSeveralThreads) {
  const auto pool = ThreadPool::create(2);
  ASSERT_TRUE(pool.has_value());
  // Each call waits for the other one, so one thread alone would never end.
  std::atomic<int> arrived{0};
  (*pool)->parallel_for(2, [&](size_t) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, RefusesImpossibleCounts) {
  EXPECT_EQ(ThreadPool::create(0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ThreadPool::create(257).error().code, ErrorCode::kInvalidArgument);
}

TEST(ThreadPool, EndsWithoutHavingWorked) { EXPECT_TRUE(ThreadPool::create(5).has_value()); }

TEST(DefaultNumThreads, IsWithinTheMachine) {
  EXPECT_GE(default_num_threads(), 1U);
  EXPECT_LE(default_num_threads(), std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace rill::test
