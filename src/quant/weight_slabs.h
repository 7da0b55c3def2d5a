// SPDX-License-Identifier: Apache-2.0
// WeightSlabs: memory for packed weights. Matrices lie one after the other in large blocks, so that
// small ones (experts, a depthformer's layers) share huge pages too.
#pragma once

#include <cstddef>
#include <memory>

#include "base/aligned_buffer.h"
#include "base/result.h"

namespace rill::quant {

/// Hands out memory; what it handed out stays valid as long as its holders do. Threading: one
/// thread.
class WeightSlabs {
 public:
  struct Piece {
    std::shared_ptr<AlignedBuffer> slab;  // keeps it alive
    std::byte* data = nullptr;            // AlignedBuffer::kAlignment aligned
  };

  /// Errors: kOutOfMemory.
  Result<Piece> take(size_t size_bytes);

 private:
  std::shared_ptr<AlignedBuffer> slab_;
  size_t used_ = 0;
};

}  // namespace rill::quant
