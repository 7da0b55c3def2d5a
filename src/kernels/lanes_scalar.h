// SPDX-License-Identifier: Apache-2.0
// Sums over 16 lanes (docs/numerics.md, rule 6), as the scalar kernels write them.
#pragma once

#include <stddef.h>

namespace rill::kernels {
namespace {

/// 16 partial sums. Lane l takes elements l, l + 16, ...; elements past the end count as +0.
struct Lanes {
  float lane[16] = {};

  /// Sums term(sum, i) over 0 <= i < size, where term adds element i to a lane's sum.
  template <typename Term>
  void accumulate(size_t size, const Term& term) {
    for (size_t i = 0; i < size; ++i) lane[i % 16] = term(lane[i % 16], i);
    // A missing element turns a lane of -0 into +0, as adding +0 does.
    if (size % 16 != 0) {
      for (size_t l = size % 16; l < 16; ++l) lane[l] = lane[l] + 0.0f;
    }
  }

  /// Folds the lanes by 8, 4, 2, 1.
  float fold() {
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
    }
    return lane[0];
  }
};

}  // namespace
}  // namespace rill::kernels
