// SPDX-License-Identifier: Apache-2.0
// What the memory of this machine can do, measured beside a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "base/thread_pool.h"

namespace rill::measure {

/// Reads memory as fast as the machine lets all threads of a pool do together.
class ReadBandwidth {
 public:
  /// Takes a buffer that no cache holds. The pool must outlive this. Errors: kOutOfMemory.
  static Result<ReadBandwidth> create(ThreadPool& pool);

  /// Bytes per second now: the median of a few passes over the buffer, in the fastest of several
  /// patterns. Takes about 50 ms.
  [[nodiscard]] double measure();

 private:
  ReadBandwidth(ThreadPool& pool, AlignedBuffer buffer);

  ThreadPool* pool_;
  AlignedBuffer buffer_;
  std::vector<uint64_t> sums_;  // one for each piece of the buffer
};

/// The most memory that the process has held so far; 0 if the system does not say.
[[nodiscard]] size_t peak_rss_bytes();

}  // namespace rill::measure
