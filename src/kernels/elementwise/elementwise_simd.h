// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels over Vec. Include a vec_<tier>.h and define RILL_TIER(name) first.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functions_simd.h"

namespace rill::kernels {
namespace {

/// 16 values, or the `rest` that are left.
RILL_INLINE Vec load_up_to(const float* p, size_t rest) {
  return rest >= 16 ? load(p) : load_first(p, rest);
}
RILL_INLINE void store_up_to(float* p, Vec v, size_t rest) {
  if (rest >= 16) {
    store(p, v);
  } else {
    store_first(p, v, rest);
  }
}

// One call of op for whole and partial vectors, so that the compiler makes no function of it.
template <typename Op>
inline void map(const float* x, size_t size, float* out, const Op& op) {
  for (size_t i = 0; i < size; i += 16)
    store_up_to(out + i, op(load_up_to(x + i, size - i)), size - i);
}

template <typename Op>
inline void map(const float* x, const float* y, size_t size, float* out, const Op& op) {
  for (size_t i = 0; i < size; i += 16) {
    const size_t rest = size - i;
    store_up_to(out + i, op(load_up_to(x + i, rest), load_up_to(y + i, rest)), rest);
  }
}

}  // namespace

void RILL_TIER(add_scaled)(const float* x, float alpha, size_t size, float* y) {
  if (alpha == 1.0f) {
    map(x, y, size, y, [](Vec a, Vec b) { return add(b, a); });
  } else {
    const Vec factor = set1(alpha);
    map(x, y, size, y, [factor](Vec a, Vec b) { return fma(factor, a, b); });
  }
}

void RILL_TIER(multiply)(const float* a, const float* b, size_t size, float* out) {
  map(a, b, size, out, [](Vec x, Vec y) { return mul(x, y); });
}

void RILL_TIER(silu_mul)(const float* gate, const float* up, size_t size, float* out) {
  map(gate, up, size, out, [](Vec g, Vec u) { return mul(silu(g), u); });
}

void RILL_TIER(sigmoid_mul)(const float* x, const float* gate, size_t size, float* out) {
  map(x, gate, size, out, [](Vec a, Vec g) { return mul(a, sigmoid(g)); });
}

void RILL_TIER(silu)(const float* x, size_t size, float* out) {
  map(x, size, out, [](Vec a) { return silu(a); });
}

void RILL_TIER(sigmoid)(const float* x, size_t size, float* out) {
  map(x, size, out, [](Vec a) { return sigmoid(a); });
}

void RILL_TIER(exponential)(const float* x, size_t size, float* out) {
  map(x, size, out, [](Vec a) { return exp(a); });
}

void RILL_TIER(relu)(const float* x, size_t size, float* out) {
  map(x, size, out, [](Vec a) { return where_not_positive(a, zero(), a); });
}

uint32_t RILL_TIER(all_finite)(const float* x, size_t size) {
  // x * 0 is a zero for finite x and NaN otherwise, and NaN stays in the sum.
  Vec sum = zero();
  size_t i = 0;
  for (; i + 16 <= size; i += 16) sum = fma(load(x + i), zero(), sum);
  if (i < size) sum = fma(load_first(x + i, size - i), zero(), sum);
  return fold(sum) == 0.0f ? 1 : 0;
}

}  // namespace rill::kernels
