// SPDX-License-Identifier: Apache-2.0
// ThreadPool: fork-join over a fixed set of threads that spin briefly, then park. No allocation and
// no lock per call.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace rill {

/// A fork-join pool. Threading: run() from one thread at a time.
class ThreadPool {
 public:
  /// A pool that works on num_threads threads, the caller's included.
  /// Errors: kInvalidArgument (0 or more than 256), kInternal (the system starts no thread).
  static Result<std::unique_ptr<ThreadPool>> create(size_t num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] size_t num_threads() const;

  /// Calls fn(index) for every index in [0, count), spread over the threads, and returns when all
  /// are done. Which thread runs which index is not defined: fn must write only what belongs to its
  /// index.
  template <typename Fn>
  void parallel_for(size_t count, const Fn& fn) {
    run(
        count, [](const void* f, size_t index) { (*static_cast<const Fn*>(f))(index); }, &fn);
  }

 private:
  struct State;

  explicit ThreadPool(std::unique_ptr<State> state);
  void run(size_t count, void (*call)(const void* fn, size_t index), const void* fn);

  std::unique_ptr<State> state_;
};

/// Physical cores that this process may use: affinity mask and container CPU quota respected; at
/// least 1.
[[nodiscard]] size_t default_num_threads();

}  // namespace rill
