// SPDX-License-Identifier: Apache-2.0
// The rotary position embedding over Vec. Include a vec_<tier>.h and define RILL_TIER(name) first.
// Pairs of neighbours are rare (the depthformer's short sequences) and stay scalar.
#include "kernels/rope/rope.h"

namespace rill::kernels {

void RILL_TIER(rope_half)(const float* cos_sin, size_t head_dim, size_t num_heads, float* x) {
  const size_t half = head_dim / 2;
  for (float* head = x; head != x + num_heads * head_dim; head += head_dim) {
    size_t j = 0;
    for (; j + 16 <= half; j += 16) {
      const Vec a = load(head + j);
      const Vec b = load(head + half + j);
      const Vec cos = load(cos_sin + j);
      const Vec sin = load(cos_sin + half + j);
      store(head + j, sub(mul(a, cos), mul(b, sin)));
      store(head + half + j, add(mul(b, cos), mul(a, sin)));
    }
    if (j < half) {
      const size_t rest = half - j;
      const Vec a = load_first(head + j, rest);
      const Vec b = load_first(head + half + j, rest);
      const Vec cos = load_first(cos_sin + j, rest);
      const Vec sin = load_first(cos_sin + half + j, rest);
      store_first(head + j, sub(mul(a, cos), mul(b, sin)), rest);
      store_first(head + half + j, add(mul(b, cos), mul(a, sin)), rest);
    }
  }
}

}  // namespace rill::kernels
