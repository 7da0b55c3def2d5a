// SPDX-License-Identifier: Apache-2.0
// Weights of an LFM2 layer stack, and how they are bound from a file under GGUF's or Transformers'
// tensor names. Each tensor has one line here: shape, GGUF name, Transformers name ("blk.i." and
// "model.layers.i." left out).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/lfm2/config.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"

namespace rill::model::lfm2 {

using quant::PackedMatrix;
using FloatVector = std::vector<float>;

/// Gated short convolution. Biases are empty unless config.conv_bias.
struct ConvWeights {
  PackedMatrix
      in_proj;  // [3D, D]  shortconv.in_proj.weight   conv.in_proj.weight; rows give B, C, X
  FloatVector in_proj_bias;   // [3D]     shortconv.in_proj.bias     conv.in_proj.bias
  FloatVector conv;           // [L, D]   shortconv.conv.weight      conv.conv.weight, transposed
  FloatVector conv_bias;      // [D]      shortconv.conv.bias        conv.conv.bias
  PackedMatrix out_proj;      // [D, D]   shortconv.out_proj.weight  conv.out_proj.weight
  FloatVector out_proj_bias;  // [D]      shortconv.out_proj.bias    conv.out_proj.bias
};

/// Grouped-query attention with RMS-normed queries and keys.
struct AttentionWeights {
  PackedMatrix q_proj;      // [H*d, D]  attn_q.weight       self_attn.q_proj.weight
  PackedMatrix k_proj;      // [G*d, D]  attn_k.weight       self_attn.k_proj.weight
  PackedMatrix v_proj;      // [G*d, D]  attn_v.weight       self_attn.v_proj.weight
  PackedMatrix out_proj;    // [D, H*d]  attn_output.weight  self_attn.out_proj.weight
  FloatVector q_layernorm;  // [d]       attn_q_norm.weight  self_attn.q_layernorm.weight
  FloatVector k_layernorm;  // [d]       attn_k_norm.weight  self_attn.k_layernorm.weight
};

/// SwiGLU feed-forward; also one expert of the sparse one (I is then moe_intermediate_size).
struct FeedForwardWeights {
  PackedMatrix w1;  // [I, D]  ffn_gate.weight  feed_forward.w1.weight  (the gate)
  PackedMatrix w3;  // [I, D]  ffn_up.weight    feed_forward.w3.weight
  PackedMatrix w2;  // [D, I]  ffn_down.weight  feed_forward.w2.weight
};

/// Sparse feed-forward. Expert matrices are stacked [E, ., .] in GGUF (ffn_gate_exps.weight,
/// ffn_up_exps.weight, ffn_down_exps.weight, or gate over up in ffn_gate_up_exps.weight) and single
/// in Transformers (experts.e.w1.weight, ...).
struct SparseFeedForwardWeights {
  PackedMatrix gate;        // [E, D]  ffn_gate_inp.weight  feed_forward.gate.weight; kept as F32
  FloatVector expert_bias;  // [E]     exp_probs_b.bias     feed_forward.expert_bias; may be empty
  std::vector<FeedForwardWeights> experts;  // E entries
};

struct LayerWeights {
  FloatVector operator_norm;  // [D]  attn_norm.weight  operator_norm.weight
  FloatVector ffn_norm;       // [D]  ffn_norm.weight   ffn_norm.weight
  // Exactly one of each pair.
  std::optional<ConvWeights> conv;
  std::optional<AttentionWeights> attention;
  std::optional<FeedForwardWeights> feed_forward;
  std::optional<SparseFeedForwardWeights> sparse;
};

struct Weights {
  PackedMatrix
      embed_tokens;  // [V, D]  token_embd.weight  embed_tokens.weight; empty for Role::kDetokenizer
  PackedMatrix lm_head;        // [V, D]  output.weight      lm_head.weight; empty when tied
  FloatVector embedding_norm;  // [D]     the final norm: token_embd_norm.weight or
                               // output_norm.weight, embedding_norm.weight
  std::vector<LayerWeights> layers;

  /// Bytes held in memory (borrowed matrices count as 0).
  [[nodiscard]] size_t owned_bytes() const;
  /// Bytes that one step reads, the token table and the head left out: of a sparse layer only the
  /// chosen experts count.
  [[nodiscard]] size_t step_bytes(size_t experts_used) const;
  /// Bytes that the logits of one step read.
  [[nodiscard]] size_t head_bytes() const;
};

/// Which names the tensors have.
enum class NameScheme { kGguf, kTransformers };

/// Where weights come from.
struct WeightSource {
  const TensorMap* tensors = nullptr;
  std::string name;  ///< file or directory, for messages
  NameScheme scheme = NameScheme::kGguf;
  std::string prefix;  ///< of Transformers names: "model." or, inside an audio checkpoint, "lfm."
  const format::GgufFile* gguf =
      nullptr;  ///< its pages are released as tensors are packed; may be null
};

/// How the kernels get a matrix.
enum class MatrixForm {
  kPacked,    ///< in the kernels' own order
  kBorrowed,  ///< in the file's order; same results, no copy
  kWidened,   ///< as F32, so that quantized weights take part in F32 products: for checking files
};

struct LoadOptions {
  MatrixForm form = MatrixForm::kPacked;
  Role role = Role::kGenerator;
};

/// Takes the width of the dense feed-forward from the tensors: config.intermediate_size may differ
/// from it only where config.other_intermediate_sizes explains it.
/// Errors: kNotFound, kInvalidFormat.
Status resolve_intermediate_size(const WeightSource& source, Config& config);

/// Binds and packs every tensor. The final norm is token_embd_norm.weight; output_norm.weight where
/// that is absent (with both, token_embd_norm.weight wins, as in the files that LiquidAI
/// publishes). Errors: kNotFound (a missing tensor), kInvalidFormat (a shape), kUnsupported (a
/// type, or a tensor
///         of a layer that this build has no use for), kOutOfMemory; file and tensor are named.
/// Lifetime: with MatrixForm::kBorrowed the source must outlive the weights.
Result<Weights> load_weights(const WeightSource& source, const Config& config,
                             const LoadOptions& options, ThreadPool& pool);

}  // namespace rill::model::lfm2
