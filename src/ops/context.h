// SPDX-License-Identifier: Apache-2.0
// Context: what every op needs. Ops check shapes, split work over threads and call kernels; nothing
// else threads.
#pragma once

#include "base/arena.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"

namespace rill::kernels {
struct KernelTable;
}

namespace rill::ops {

/// Kernels of one tier, threads, scratch memory. Threading: one forward pass at a time.
struct Context {
  const kernels::KernelTable* kernels = nullptr;
  ThreadPool* pool = nullptr;
  Arena* scratch = nullptr;
  ThreadPool* batch_pool = nullptr;  ///< for prompts and audio; null: pool
  /// Kernels that read much memory ask for what comes next into the first cache level
  /// (kernels/matmul/matmul.h, kernels/attention/attention.h). Same bits.
  bool prefetch = cpu_gains_from_prefetch();

  /// The context for a pass over `rows` rows: many rows are limited by arithmetic and gain from
  /// threads that would only compete for memory with a few.
  [[nodiscard]] Context for_rows(size_t rows) const {
    constexpr size_t kFewRows = 8;
    Context chosen = *this;
    if (rows > kFewRows && batch_pool != nullptr) chosen.pool = batch_pool;
    return chosen;
  }
};

}  // namespace rill::ops
