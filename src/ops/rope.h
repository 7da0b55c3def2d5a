// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding. Angles are formed in F32 as the reference does; their sine and cosine
// in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace rill::ops {

/// Which pairs of a head rotate together.
enum class RopeLayout {
  kHalf,  ///< (j, j + d/2): backbone and detokenizer ("NeoX")
  kPair,  ///< (2j, 2j + 1): depthformer
};

/// inv_freq[j] = 1 / theta^(2j / head_dim), in the reference's F32 steps; head_dim / 2 values.
[[nodiscard]] std::vector<float> rope_inv_freq(size_t head_dim, double theta);

/// Cosines and sines for positions first_position .. first_position + T - 1.
/// Shapes: inv_freq [d/2], cos_sin [T, d]: the row's cosines, then its sines.
/// Source: transformers modeling_lfm2, Lfm2RotaryEmbedding.forward (angle = float(position) *
/// inv_freq).
void rope_table(std::span<const float> inv_freq, size_t first_position, Mat cos_sin);

/// Rotates each head of x [T, H*d] in place.
void rope(Context& context, RopeLayout layout, ConstMat cos_sin, size_t num_heads, Mat x);

}  // namespace rill::ops
