// SPDX-License-Identifier: Apache-2.0
// KvBlocks: the memory behind the blocks of a sequence's keys and values.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"

namespace rill::model::lfm2 {

/// The bytes of one block. A few blocks share an allocation, which lives as long as one of them;
/// the memory of those that are gone goes back to the system before.
struct KvBlock {
  KvBlock(std::shared_ptr<AlignedBuffer> shared_memory, std::span<std::byte> part)
      : memory(std::move(shared_memory)), bytes(part) {}
  KvBlock(const KvBlock&) = delete;
  KvBlock& operator=(const KvBlock&) = delete;
  ~KvBlock();

  const std::shared_ptr<AlignedBuffer> memory;
  const std::span<std::byte> bytes;
};

/// Hands out blocks of one size, new ones or those that were given back. Blocks that would end
/// within a huge page are allocated together with the next ones, up to four, if so they fill whole
/// ones: attention reads all of them for every token, and reads the small pages at such an end
/// slower. A value that moves
/// with its owner; not thread-safe.
class KvBlocks {
 public:
  using Block = std::shared_ptr<KvBlock>;

  KvBlocks() = default;
  explicit KvBlocks(size_t block_bytes) : block_bytes_(block_bytes) {}

  /// Blocks of a size that one allocation holds.
  static size_t per_allocation(size_t block_bytes);

  [[nodiscard]] size_t block_bytes() const { return block_bytes_; }
  /// A block with any content. Errors: kOutOfMemory.
  Result<Block> take();
  /// Keeps a block for a later take(), if nobody else holds it and only a few are kept.
  void give_back(Block block);
  /// Blocks that are held here, for take().
  [[nodiscard]] size_t num_kept() const { return kept_.size(); }
  void drop_kept() { kept_.clear(); }

 private:
  size_t block_bytes_ = 0;
  std::vector<Block> kept_;  // the next one last
};

}  // namespace rill::model::lfm2
