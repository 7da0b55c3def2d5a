// SPDX-License-Identifier: Apache-2.0
// Encoder: the FastConformer that turns log-mel frames into one row per 80 ms of speech.
#pragma once

#include "base/result.h"
#include "format/gguf.h"
#include "model/conformer/config.h"
#include "model/conformer/weights.h"
#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"

namespace rill::model::conformer {

/// The encoder of an mmproj file. Threading: const after loading; any number of passes at a time.
class Encoder {
 public:
  /// Errors: those of read_config and load_encoder_weights.
  /// Lifetime: without repacking, the file must outlive the encoder.
  static Result<Encoder> load(const WeightReader& reader, const Config& config);

  [[nodiscard]] const Config& config() const { return config_; }

  /// Encodes a whole clip: the attention sees all of it.
  /// Shapes: mel [F, M] -> out [num_steps(F), D]. No frames give no rows.
  /// Stages: conv.0 .. conv.6 (rows time * frequency), pre_encode, pos_emb,
  /// layer.K.{ff1,attn,conv}, layer.K, encoder.
  /// Errors: kInvalidArgument (features of another M), kOutOfMemory (scratch, linear in F).
  /// Source: liquid-audio conformer/encoder.py, ConformerEncoder, and modules.py, ConformerLayer.
  Status encode(ops::Context& context, ConstMat mel, Mat out, const Trace* trace = nullptr) const;

 private:
  Config config_;
  EncoderWeights weights_;
};

}  // namespace rill::model::conformer
