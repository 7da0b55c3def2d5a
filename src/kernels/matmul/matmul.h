// SPDX-License-Identifier: Apache-2.0
// Contracts of the matmul kernels. Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/quantize_activations/quantize_activations.h"

namespace rill::kernels {

/// out[t, n] = sum over k of x[t, k] * w[n, k] for consecutive panels of 16 rows (layout:
/// quant/blocks.h), in the order of docs/numerics.md: rule 5 for F32, F16 and BF16, rule 4 for
/// quantized types. Which bits a NaN has is not defined.
struct MatmulArgs {
  const uint8_t* panels;  ///< 64-byte aligned
  size_t panel_bytes;     ///< distance between panels
  size_t rows;    ///< N: rows of the weights, of which the last panel may hold fewer than 16
  size_t cols;    ///< K
  size_t tokens;  ///< T
  /// F32, F16, BF16: row t of x starts at x[t * x_stride].
  const float* x;
  size_t x_stride;
  /// Quantized types: chunk c of row t is chunks[c * chunk_stride + t].
  const ActivationChunk* chunks;
  size_t chunk_stride;
  /// [T, N]: row t starts at out[t * out_stride]; only the N values of each row are written.
  float* out;
  size_t out_stride;
  /// Few tokens: read several panels at once and ask the memory for what comes next, instead of one
  /// panel after the other as the processor's own prefetching follows best. Same bits.
  bool prefetch;
};

using matmul_f32_fn = void(const MatmulArgs& args);
using matmul_f16_fn = void(const MatmulArgs& args);
using matmul_bf16_fn = void(const MatmulArgs& args);
using matmul_q8_0_fn = void(const MatmulArgs& args);
using matmul_q4_0_fn = void(const MatmulArgs& args);
using matmul_q4_1_fn = void(const MatmulArgs& args);
using matmul_q5_0_fn = void(const MatmulArgs& args);
using matmul_q5_1_fn = void(const MatmulArgs& args);
using matmul_q4_k_fn = void(const MatmulArgs& args);
using matmul_q5_k_fn = void(const MatmulArgs& args);
using matmul_q6_k_fn = void(const MatmulArgs& args);

}  // namespace rill::kernels
