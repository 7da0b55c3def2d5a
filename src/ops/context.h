// SPDX-License-Identifier: Apache-2.0
// Context: what every op needs. Ops check shapes, split work over threads and call kernels; nothing
// else threads.
#pragma once

#include "base/arena.h"
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
};

}  // namespace rill::ops
