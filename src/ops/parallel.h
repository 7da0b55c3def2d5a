// SPDX-License-Identifier: Apache-2.0
// How the ops split work over threads. Splitting never changes a result, only who computes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "ops/context.h"

namespace rill::ops {

/// Values that one task should touch at least, so that handing it out costs little beside the work.
inline constexpr size_t kLightGrain = 32768;  // a few operations per value
inline constexpr size_t kHeavyGrain = 4096;   // an exponential per value

/// Calls fn(begin, end) for pieces of [0, count); an item is worth item_values values of work.
template <typename Fn>
void parallel_ranges(Context& context, size_t count, size_t item_values, size_t grain,
                     const Fn& fn) {
  if (count == 0) return;
  const size_t per_task = std::max<size_t>(1, grain / std::max<size_t>(1, item_values));
  const size_t tasks = (count + per_task - 1) / per_task;
  context.pool->parallel_for(
      tasks, [&](size_t task) { fn(task * per_task, std::min(count, (task + 1) * per_task)); });
}

/// Calls fn(item, worker) for every item of [0, count), where `worker` < num_workers names scratch
/// memory that no other call uses at the same time.
template <typename Fn>
void parallel_items(Context& context, size_t count, size_t num_workers, const Fn& fn) {
  std::atomic<size_t> next{0};
  context.pool->parallel_for(num_workers, [&](size_t worker) {
    for (size_t item = next.fetch_add(1, std::memory_order_relaxed); item < count;
         item = next.fetch_add(1, std::memory_order_relaxed)) {
      fn(item, worker);
    }
  });
}

/// Calls fn(item) for every item of [0, count). Each thread takes consecutive items of a range of
/// its own, so that what it asks the memory for ahead of one item is what it needs for the next;
/// one that is done early helps the others.
template <typename Fn>
void parallel_runs(Context& context, size_t count, const Fn& fn) {
  constexpr size_t kMaxRuns = 64;
  struct alignas(64) Next {
    std::atomic<size_t> item{0};
  };
  const size_t workers = std::min(context.pool->num_threads(), count);
  const size_t runs = std::min(workers, kMaxRuns);  // with more workers than that, some share one
  const auto begin_of = [&](size_t run) { return run * count / runs; };
  std::array<Next, kMaxRuns> next;
  for (size_t run = 0; run < runs; ++run) next[run].item.store(begin_of(run));
  context.pool->parallel_for(workers, [&](size_t worker) {
    for (size_t i = 0; i < runs; ++i) {
      const size_t run = (worker + i) % runs;
      const size_t end = begin_of(run + 1);
      while (next[run].item.load(std::memory_order_relaxed) < end) {
        const size_t item = next[run].item.fetch_add(1, std::memory_order_relaxed);
        if (item < end) fn(item);
      }
    }
  });
}

}  // namespace rill::ops
