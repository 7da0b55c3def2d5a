// SPDX-License-Identifier: Apache-2.0
// Contracts of the rotary position embedding kernels: one row of heads, rotated in place.
// Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

/// With h = head_dim / 2 and the pair (a, b) = (x[j], x[j + h]) of each head:
///   x[j] = a * cos[j] - b * sin[j];  x[j + h] = b * cos[j] + a * sin[j], every product and sum
///   rounded.
/// cos_sin holds h cosines, then h sines; head_dim is even.
using rope_half_fn = void(const float* cos_sin, size_t head_dim, size_t num_heads, float* x);

/// The same for the pairs (x[2j], x[2j + 1]).
using rope_pair_fn = void(const float* cos_sin, size_t head_dim, size_t num_heads, float* x);

}  // namespace rill::kernels
