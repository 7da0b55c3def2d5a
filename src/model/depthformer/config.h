// SPDX-License-Identifier: Apache-2.0
// Sizes of the depthformer, the small transformer that turns a hidden state into the codes of one
// audio frame.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "format/gguf.h"

namespace rill::model::depthformer {

/// Sizes of a depthformer: depth and width from the metadata, all others from tensor shapes.
struct Config {
  size_t num_layers = 0;     ///<     depthformer_n_layer
  size_t hidden_size = 0;    ///< D   depthformer_n_embd
  size_t backbone_size = 0;  ///<     columns of depth_linear
  size_t num_codebooks = 0;  ///< Q   rows of depth_linear / D
  size_t audio_vocab_size =
      0;                 ///< V   rows of depth_embeddings.0.embedding: the codes and the end code
  size_t head_dim = 0;   ///< d   length of q_layernorm
  size_t num_heads = 0;  ///< H   D / d
  size_t num_kv_heads = 0;       ///< G   what is left of qkv_proj's rows
  size_t intermediate_size = 0;  ///< I   rows of w1

  /// Fixed by the architecture; no file says them.
  static constexpr float kNormEps = 1e-5f;
  static constexpr double kRopeTheta = 1e6;

  /// The code that ends the audio, when a frame's first code is it.
  [[nodiscard]] size_t end_code() const { return audio_vocab_size - 1; }
};

/// Reads and checks the sizes of a vocoder file.
/// Errors: kUnsupported (not a vocoder file), kNotFound, kInvalidFormat; file and key or tensor are
/// named. Source: liquid-audio model/transformer.py and lfm2_audio.py (depthformer, depth_linear,
/// depth_embeddings).
Result<Config> read_config(const format::GgufFile& vocoder);

}  // namespace rill::model::depthformer
