// SPDX-License-Identifier: Apache-2.0
// What the memory of this machine can do, measured beside a model.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "base/thread_pool.h"

namespace rill::measure {

/// Bytes per second that all threads of the pool read together, the median of a few passes
/// over a buffer that no cache holds, in the fastest of several patterns. Errors: kOutOfMemory.
Result<double> measure_read_bandwidth(ThreadPool& pool);

/// The most memory that the process has held so far; 0 if the system does not say.
[[nodiscard]] size_t peak_rss_bytes();

}  // namespace rill::measure
