// SPDX-License-Identifier: Apache-2.0
// The norms over Vec. Include a vec_<tier>.h and define RILL_TIER(name) first.
#include "kernels/norm/norm.h"

namespace rill::kernels {

void RILL_TIER(rms_norm)(const float* x, const float* weight, float eps, size_t size, float* out) {
  const size_t full = size / 16 * 16;
  const size_t rest = size - full;
  Vec squares = zero();
  for (size_t i = 0; i < full; i += 16) {
    const Vec v = load(x + i);
    squares = fma(v, v, squares);
  }
  if (rest > 0) {
    const Vec v = load_first(x + full, rest);
    squares = fma(v, v, squares);
  }
  const Vec r = set1(1.0f / __builtin_sqrtf(fold(squares) / static_cast<float>(size) + eps));
  for (size_t i = 0; i < full; i += 16) store(out + i, mul(load(weight + i), mul(load(x + i), r)));
  if (rest > 0) {
    store_first(out + full,
                mul(load_first(weight + full, rest), mul(load_first(x + full, rest), r)), rest);
  }
}

void RILL_TIER(layer_norm)(const float* x, const float* weight, const float* bias, float eps,
                           size_t size, float* out) {
  const size_t full = size / 16 * 16;
  const size_t rest = size - full;
  Vec sum = zero();
  for (size_t i = 0; i < full; i += 16) sum = add(sum, load(x + i));
  if (rest > 0) sum = add(sum, load_first(x + full, rest));
  const Vec mean = set1(fold(sum) / static_cast<float>(size));
  Vec squares = zero();
  for (size_t i = 0; i < full; i += 16) {
    const Vec centred = sub(load(x + i), mean);
    squares = fma(centred, centred, squares);
  }
  if (rest > 0) {
    const Vec centred = keep_first(sub(load_first(x + full, rest), mean), rest);
    squares = fma(centred, centred, squares);
  }
  const Vec r = set1(1.0f / __builtin_sqrtf(fold(squares) / static_cast<float>(size) + eps));
  for (size_t i = 0; i < full; i += 16) {
    const Vec scaled = mul(mul(sub(load(x + i), mean), r), load(weight + i));
    store(out + i, add(scaled, load(bias + i)));
  }
  if (rest > 0) {
    const Vec scaled =
        mul(mul(sub(load_first(x + full, rest), mean), r), load_first(weight + full, rest));
    store_first(out + full, add(scaled, load_first(bias + full, rest)), rest);
  }
}

}  // namespace rill::kernels
