// SPDX-License-Identifier: Apache-2.0
// The definition of the elementwise kernels; the functions themselves are in functions_scalar.h.
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functions_scalar.h"

namespace rill::kernels {

void add_scaled_scalar(const float* x, float alpha, size_t size, float* y) {
  if (alpha == 1.0f) {
    for (size_t i = 0; i < size; ++i) y[i] = y[i] + x[i];
  } else {
    for (size_t i = 0; i < size; ++i) y[i] = __builtin_fmaf(alpha, x[i], y[i]);
  }
}

void multiply_scalar(const float* a, const float* b, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = a[i] * b[i];
}

void silu_mul_scalar(const float* gate, const float* up, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = silu_f32(gate[i]) * up[i];
}

void sigmoid_mul_scalar(const float* x, const float* gate, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = x[i] * sigmoid_f32(gate[i]);
}

void silu_scalar(const float* x, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = silu_f32(x[i]);
}

void sigmoid_scalar(const float* x, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = sigmoid_f32(x[i]);
}

void gelu_scalar(const float* x, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = gelu_f32(x[i]);
}

void exponential_scalar(const float* x, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = exp_f32(x[i]);
}

void relu_scalar(const float* x, size_t size, float* out) {
  for (size_t i = 0; i < size; ++i) out[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

uint32_t all_finite_scalar(const float* x, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if ((bits_from_float(x[i]) & 0x7F800000U) == 0x7F800000U) return 0;
  }
  return 1;
}

}  // namespace rill::kernels
