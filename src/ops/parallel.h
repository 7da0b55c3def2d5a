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

/// Calls fn(begin, end, worker) for ranges that together are [0, count); `worker` is as above. Each
/// thread takes ranges of a part of its own, two thirds of what is left of it at a time, so that
/// memory is read in long runs and yet all threads end together; one that is done early helps the
/// others, item by item. A thread of half the others' speed still holds nobody up.
template <typename Fn>
void parallel_runs(Context& context, size_t count, const Fn& fn) {
  constexpr size_t kMaxParts = 64;
  struct alignas(64) Next {
    std::atomic<size_t> item{0};
  };
  const size_t workers = std::min(context.pool->num_threads(), count);
  const size_t parts = std::min(workers, kMaxParts);  // with more workers than that, some share one
  const auto begin_of = [&](size_t part) { return part * count / parts; };
  std::array<Next, kMaxParts> next;
  for (size_t part = 0; part < parts; ++part) next[part].item.store(begin_of(part));
  context.pool->parallel_for(workers, [&](size_t worker) {
    for (size_t i = 0; i < parts; ++i) {
      const size_t part = (worker + i) % parts;
      const size_t end = begin_of(part + 1);
      size_t begin = next[part].item.load(std::memory_order_relaxed);
      while (begin < end) {
        const size_t take = i == 0 ? std::max<size_t>(1, (end - begin) * 2 / 3) : 1;
        if (next[part].item.compare_exchange_weak(begin, begin + take, std::memory_order_relaxed)) {
          fn(begin, begin + take, worker);
          begin = next[part].item.load(std::memory_order_relaxed);
        }
      }
    }
  });
}

}  // namespace rill::ops
