// SPDX-License-Identifier: Apache-2.0
// Sizes of the FastConformer encoder and its adapter, as the mmproj file gives them.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "format/gguf.h"

namespace rill::model::conformer {

/// Sizes of an encoder. Nothing is hard-coded: metadata first, tensor shapes for the rest.
struct Config {
  size_t num_mel_bins = 0;          ///< M   clip.audio.num_mel_bins
  size_t hidden_size = 0;           ///< D   clip.audio.embedding_length
  size_t num_layers = 0;            ///<     clip.audio.block_count
  size_t num_heads = 0;             ///< H   clip.audio.attention.head_count
  size_t intermediate_size = 0;     ///< I   rows of ffn_up (clip.audio.feed_forward_length holds D)
  size_t conv_kernel = 0;           ///< K   columns of conv_dw; odd
  size_t subsampling_channels = 0;  ///< C   rows of a.conv1d.0
  size_t projection_size = 0;  ///<     clip.audio.projection_dim: width of the adapter's output
  size_t adapter_size = 0;     ///<     rows of mm.a.mlp.1
  float layer_norm_eps = 0;    ///<     clip.audio.attention.layer_norm_epsilon

  [[nodiscard]] size_t head_dim() const { return hidden_size / num_heads; }
};

/// Reads and checks the sizes of an mmproj file.
/// Errors: kUnsupported (not an LFM2 audio projector), kNotFound, kInvalidFormat; file and key or
/// tensor are named. Source: llama.cpp's clip metadata keys, as converters write them.
Result<Config> read_config(const format::GgufFile& mmproj);

/// n halved with rounding up, as a convolution with stride 2 and padding 1 does.
[[nodiscard]] inline size_t halve_up(size_t n) { return n / 2 + n % 2; }

/// Encoder steps of `num_frames` mel frames: three halvings.
[[nodiscard]] inline size_t num_steps(size_t num_frames) {
  return halve_up(halve_up(halve_up(num_frames)));
}

}  // namespace rill::model::conformer
