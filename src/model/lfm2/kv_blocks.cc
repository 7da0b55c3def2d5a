// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2/kv_blocks.h"

#include <utility>

#include "base/system.h"

namespace rill::model::lfm2 {
namespace {

constexpr size_t kMaxPerAllocation = 4;

}  // namespace

KvBlock::~KvBlock() {
  if (memory.use_count() > 1) system::release_pages(bytes.data(), bytes.size());
}

size_t KvBlocks::per_allocation(size_t block_bytes) {
  for (size_t blocks = 1; blocks <= kMaxPerAllocation; ++blocks) {
    if (blocks * block_bytes % AlignedBuffer::kHugePageBytes == 0) return blocks;
  }
  return 1;
}

Result<KvBlocks::Block> KvBlocks::take() {
  if (kept_.empty()) {
    const size_t blocks = per_allocation(block_bytes_);
    RILL_ASSIGN_OR_RETURN(AlignedBuffer own, AlignedBuffer::create(blocks * block_bytes_));
    auto memory = std::make_shared<AlignedBuffer>(std::move(own));
    for (size_t i = blocks; i-- > 0;) {
      const std::span<std::byte> bytes = {memory->data() + i * block_bytes_, block_bytes_};
      kept_.push_back(std::make_shared<KvBlock>(memory, bytes));
    }
  }
  Block block = std::move(kept_.back());
  kept_.pop_back();
  return block;
}

void KvBlocks::give_back(Block block) {
  if (block.use_count() == 1 && kept_.size() < per_allocation(block_bytes_))
    kept_.push_back(std::move(block));
}

}  // namespace rill::model::lfm2
