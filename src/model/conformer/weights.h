// SPDX-License-Identifier: Apache-2.0
// Weights of the FastConformer encoder and its adapter: one line per tensor, with shape and stored
// name.
#pragma once

#include <vector>

#include "base/result.h"
#include "format/gguf.h"
#include "model/conformer/config.h"
#include "model/weights/weight_reader.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"

namespace rill::model::conformer {

/// A matrix with a bias.
struct Linear {
  quant::PackedMatrix weight;  // [N, K]  NAME.weight
  Tensor bias;                 // [N]     NAME.bias
};

/// Scale and shift of a normalisation.
struct Norm {
  Tensor weight;  // [D]  NAME.weight
  Tensor bias;    // [D]  NAME.bias
};

/// Depthwise taps.
struct DepthwiseConv {
  Tensor weight;  // [C, taps]  NAME.weight
  Tensor bias;    // [C]        NAME.bias
};

struct SubsamplingWeights {
  Linear conv_0;         // [C, 9]      a.conv1d.0, stored [C, 1, 3, 3]
  DepthwiseConv conv_2;  // [C, 9]      a.conv1d.2, stored [C, 1, 3, 3]
  Linear conv_3;         // [C, C]      a.conv1d.3, stored [C, C, 1, 1]
  DepthwiseConv conv_5;  // [C, 9]      a.conv1d.5
  Linear conv_6;         // [C, C]      a.conv1d.6
  Linear out;            // [D, C*W]    a.pre_encode.out, input channel-major: index c*W + f
};

struct LayerWeights {
  Norm ff1_norm;                   // [D]     a.blk.{i}.ffn_norm
  Linear ff1_up;                   // [I, D]  a.blk.{i}.ffn_up
  Linear ff1_down;                 // [D, I]  a.blk.{i}.ffn_down
  Norm attn_norm;                  // [D]     a.blk.{i}.ln1
  Linear attn_q;                   // [D, D]  a.blk.{i}.attn_q
  Linear attn_k;                   // [D, D]  a.blk.{i}.attn_k
  Linear attn_v;                   // [D, D]  a.blk.{i}.attn_v
  Linear attn_out;                 // [D, D]  a.blk.{i}.attn_out
  quant::PackedMatrix linear_pos;  // [D, D]  a.blk.{i}.linear_pos.weight
  Tensor pos_bias_u;               // [H, d]  a.blk.{i}.pos_bias_u
  Tensor pos_bias_v;               // [H, d]  a.blk.{i}.pos_bias_v
  Norm conv_norm_in;               // [D]     a.blk.{i}.norm_conv
  Linear conv_pw1;                 // [2D, D] a.blk.{i}.conv_pw1
  DepthwiseConv conv_dw;           // [D, K]  a.blk.{i}.conv_dw
  Norm conv_batch_norm;  // [D]     a.blk.{i}.conv_norm: batch norm folded to scale and shift
  Linear conv_pw2;       // [D, D]  a.blk.{i}.conv_pw2
  Norm ff2_norm;         // [D]     a.blk.{i}.ffn_norm_1
  Linear ff2_up;         // [I, D]  a.blk.{i}.ffn_up_1
  Linear ff2_down;       // [D, I]  a.blk.{i}.ffn_down_1
  Norm out_norm;         // [D]     a.blk.{i}.ln2
};

struct EncoderWeights {
  SubsamplingWeights subsampling;
  std::vector<LayerWeights> layers;
};

struct AdapterWeights {
  Norm norm;    // [D]     mm.a.mlp.0
  Linear up;    // [P, D]  mm.a.mlp.1
  Linear down;  // [O, P]  mm.a.mlp.3
};

/// Errors: kNotFound, kInvalidFormat, kUnsupported, kOutOfMemory; file and tensor are named.
Result<EncoderWeights> load_encoder_weights(const WeightReader& reader, const Config& config);
Result<AdapterWeights> load_adapter_weights(const WeightReader& reader, const Config& config);

}  // namespace rill::model::conformer
