// SPDX-License-Identifier: Apache-2.0
// The weights of the Silero VAD network (16 kHz), from a safetensors file.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "format/safetensors.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"

namespace rill::model::silero_vad {

/// Sizes of the network.
inline constexpr size_t kBlock = 512;   ///< samples that one probability stands for
inline constexpr size_t kContext = 64;  ///< samples of the block before that are seen again
inline constexpr size_t kMirror = 64;   ///< samples reflected at the right end
inline constexpr size_t kWindow = 256;  ///< STFT window
inline constexpr size_t kHop = 128;     ///< STFT hop
inline constexpr size_t kFrames = 4;    ///< STFT frames per block
inline constexpr size_t kBins = 129;    ///< of the magnitude spectrum
inline constexpr size_t kKernel = 3;    ///< of the convolutions over frames
inline constexpr size_t kHidden = 128;  ///< of the LSTM

/// A matrix with a bias; both or only the matrix.
struct Layer {
  quant::PackedMatrix weight;
  Tensor bias;  // [1, rows]
};

struct Weights {
  quant::PackedMatrix stft;  // [258, 256]       stft_conv.weight: 129 real rows, 129 imaginary rows
  Layer conv1;               // [128, 129 * 3]   conv1.{weight,bias}
  Layer conv2;               // [64, 128 * 3]    conv2.{weight,bias}
  Layer conv3;               // [64, 64 * 3]     conv3.{weight,bias}
  Layer conv4;               // [128, 64 * 3]    conv4.{weight,bias}
  Layer lstm_input;          // [512, 128]       lstm_cell.{weight,bias}_ih, gates i, f, g, o
  Layer lstm_hidden;         // [512, 128]       lstm_cell.{weight,bias}_hh
  Layer final_conv;          // [1, 128]         final_conv.{weight,bias}
};

/// Copies the weights out of a file; other tensors in it are ignored.
/// Errors: kNotFound, kInvalidFormat (shape), kUnsupported (type), naming file and tensor;
/// kOutOfMemory.
Result<Weights> load_weights(const format::SafetensorsFile& file, ThreadPool& pool);

}  // namespace rill::model::silero_vad
