// SPDX-License-Identifier: Apache-2.0
// The matrix products of every vector tier, over vectors of 16 rows. A tier's file supplies the
// instructions as a struct V (its members: matmul_avx512.h); the order of operations is written
// once, in the two headers below, and equals matmul_scalar.cc.
//
// Few tokens (decode): tiles read the packed weights directly, at memory speed. Many tokens
// (prefill): a chunk of a few panels, unpacked into the first cache level if it is quantized,
// serves all tokens before the next chunk is touched.
#pragma once

#include "kernels/matmul/matmul_tile_plain.h"
#include "kernels/matmul/matmul_tile_quantized.h"

// Defines every function of the family for a tier.
#define RILL_DEFINE_MATMULS(tier, V)                                                         \
  void matmul_f32_##tier(const MatmulArgs& args) { matmul_plain<V, F32Weights<V>>(args); }   \
  void matmul_f16_##tier(const MatmulArgs& args) { matmul_plain<V, F16Weights<V>>(args); }   \
  void matmul_bf16_##tier(const MatmulArgs& args) { matmul_plain<V, BF16Weights<V>>(args); } \
  void matmul_q8_0_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ8_0>(args);                                            \
  }                                                                                          \
  void matmul_q4_0_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ4_0>(args);                                            \
  }                                                                                          \
  void matmul_q4_1_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ4_1>(args);                                            \
  }                                                                                          \
  void matmul_q5_0_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ5_0>(args);                                            \
  }                                                                                          \
  void matmul_q5_1_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ5_1>(args);                                            \
  }                                                                                          \
  void matmul_q4_k_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ4_K>(args);                                            \
  }                                                                                          \
  void matmul_q5_k_##tier(const MatmulArgs& args) {                                          \
    matmul_quantized<V, quant::kPanelQ5_K>(args);                                            \
  }                                                                                          \
  void matmul_q6_k_##tier(const MatmulArgs& args) { matmul_quantized<V, quant::kPanelQ6_K>(args); }
