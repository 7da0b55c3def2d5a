// SPDX-License-Identifier: Apache-2.0
#include "quant/weight_slabs.h"

#include <algorithm>
#include <utility>

namespace rill::quant {
namespace {

// Slabs grow with the model: little is reserved for a small one.
constexpr size_t kFirstSlabBytes = size_t{1} << 20;
constexpr size_t kLargestSlabBytes = size_t{32} << 20;

Result<std::shared_ptr<AlignedBuffer>> make_slab(size_t size_bytes) {
  RILL_ASSIGN_OR_RETURN(AlignedBuffer memory, AlignedBuffer::create(size_bytes));
  return std::make_shared<AlignedBuffer>(std::move(memory));
}

}  // namespace

Result<WeightSlabs::Piece> WeightSlabs::take(size_t size_bytes) {
  if (size_bytes > kLargestSlabBytes / 2) {  // large enough for itself
    RILL_ASSIGN_OR_RETURN(auto own, make_slab(size_bytes));
    return Piece{own, own->data()};
  }
  if (slab_ == nullptr || slab_->size_bytes() - used_ < size_bytes) {
    const size_t wanted = slab_ == nullptr ? kFirstSlabBytes : 2 * slab_->size_bytes();
    RILL_ASSIGN_OR_RETURN(slab_,
                          make_slab(std::max(size_bytes, std::min(wanted, kLargestSlabBytes))));
    used_ = 0;
  }
  Piece piece = {slab_, slab_->data() + used_};
  constexpr size_t kAlignment = AlignedBuffer::kAlignment;
  used_ = std::min(slab_->size_bytes(),
                   (used_ + size_bytes + kAlignment - 1) / kAlignment * kAlignment);
  return piece;
}

}  // namespace rill::quant
