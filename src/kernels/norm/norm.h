// SPDX-License-Identifier: Apache-2.0
// Contracts of the norm kernels: one row each. Sums are over 16 lanes (docs/numerics.md, rule 6).
// Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

/// r = 1 / sqrt(sum_i x[i]^2 / size + eps);  out[i] = weight[i] * (x[i] * r). out may be x.
using rms_norm_fn = void(const float* x, const float* weight, float eps, size_t size, float* out);

/// c[i] = x[i] - sum(x) / size;  r = 1 / sqrt(sum_i c[i]^2 / size + eps);
/// out[i] = (c[i] * r) * weight[i] + bias[i], each step rounded. out may be x.
using layer_norm_fn = void(const float* x, const float* weight, const float* bias, float eps,
                           size_t size, float* out);

}  // namespace rill::kernels
