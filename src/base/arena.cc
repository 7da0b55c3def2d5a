// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <algorithm>

namespace rill {
namespace {

// Large enough that a decode step of a 1.2B model stays in one block.
constexpr size_t kMinBlockBytes = size_t{1} << 20;

}  // namespace

Result<std::byte*> Arena::take_bytes(size_t size_bytes) {
  constexpr size_t kAlign = AlignedBuffer::kAlignment;
  const size_t padded = (size_bytes + kAlign - 1) / kAlign * kAlign;
  while (block_ < blocks_.size()) {
    if (blocks_[block_].size_bytes() - used_ >= padded) {
      std::byte* piece = blocks_[block_].data() + used_;
      used_ += padded;
      return piece;
    }
    ++block_;
    used_ = 0;
  }
  const size_t last = blocks_.empty() ? 0 : blocks_.back().size_bytes();
  const size_t wanted = std::max({padded, kMinBlockBytes, last + last / 2});
  auto block = AlignedBuffer::create((wanted + kAlign - 1) / kAlign * kAlign);
  if (!block) block = AlignedBuffer::create(padded);
  if (!block) return std::move(block).error();
  blocks_.push_back(std::move(block).value());
  used_ = padded;
  return blocks_.back().data();
}

size_t Arena::reserved_bytes() const {
  size_t total = 0;
  for (const AlignedBuffer& block : blocks_) total += block.size_bytes();
  return total;
}

void Arena::release() {
  RILL_CHECK(block_ == 0 && used_ == 0, "Arena::release inside a Scope");
  blocks_.clear();
}

}  // namespace rill
