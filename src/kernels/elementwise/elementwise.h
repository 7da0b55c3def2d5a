// SPDX-License-Identifier: Apache-2.0
// Contracts of the elementwise kernels. Outputs may be the inputs. The functions are defined in
// functions_scalar.h. Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

/// y[i] = y[i] + x[i] if alpha is 1, else fma(alpha, x[i], y[i]).
using add_scaled_fn = void(const float* x, float alpha, size_t size, float* y);

/// out[i] = a[i] * b[i]
using multiply_fn = void(const float* a, const float* b, size_t size, float* out);

/// out[i] = silu(gate[i]) * up[i]
using silu_mul_fn = void(const float* gate, const float* up, size_t size, float* out);

/// out[i] = x[i] * sigmoid(gate[i])
using sigmoid_mul_fn = void(const float* x, const float* gate, size_t size, float* out);

using silu_fn = void(const float* x, size_t size, float* out);
using sigmoid_fn = void(const float* x, size_t size, float* out);
using gelu_fn = void(const float* x, size_t size, float* out);
/// out[i] = exp(x[i]); the primitive of the others, here for its test.
using exponential_fn = void(const float* x, size_t size, float* out);
/// out[i] = x[i] > 0 ? x[i] : +0, and NaN for NaN.
using relu_fn = void(const float* x, size_t size, float* out);

/// 1 if every value is finite, else 0.
using all_finite_fn = uint32_t(const float* x, size_t size);

}  // namespace rill::kernels
