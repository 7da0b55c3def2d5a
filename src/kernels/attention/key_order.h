// SPDX-License-Identifier: Apache-2.0
// KeyOrder: the order of elements in a group of a cache's keys.
#pragma once

#include <stddef.h>

namespace rill::kernels {
namespace {

/// Lanes of a dot product in the order in which fold() adds them: sums of neighbours in this list,
/// then sums of neighbouring sums.
constexpr size_t kFoldOrder[16] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

/// Where element c of a key stands among its head_dim elements: lane by lane in fold order, and
/// within a lane ascending (c = lane, lane + 16, ...). A dot product so reads memory from front to
/// back, and has at most one open sum per step of the fold.
class KeyOrder {
 public:
  explicit KeyOrder(size_t head_dim) {
    size_t next = 0;
    for (const size_t lane : kFoldOrder) {
      first_[lane] = next;
      next += (head_dim + 15 - lane) / 16;
    }
  }
  [[nodiscard]] size_t operator()(size_t c) const { return first_[c % 16] + c / 16; }

 private:
  size_t first_[16] = {};
};

}  // namespace
}  // namespace rill::kernels
