// SPDX-License-Identifier: Apache-2.0
// Backbone: the forward pass of LFM2, dense and sparse. Also the layer stack of the audio
// detokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/lfm2/config.h"
#include "model/lfm2/fingerprint.h"
#include "model/lfm2/state.h"
#include "model/lfm2/weights.h"
#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"

namespace rill::model::lfm2 {

/// Rows of one sequence within a forward pass.
struct Segment {
  SequenceState* state = nullptr;
  size_t rows = 0;
};

/// An LFM2 layer stack with its weights. Threading: immutable after creation; passes may run at the
/// same time when each has its own Context and states.
class Backbone {
 public:
  /// Steps that are computed together at most, so that activations stay bounded. Does not change a
  /// bit.
  static constexpr size_t kMaxPieceSteps = 512;

  Backbone(Config config, Weights weights);

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Weights& weights() const { return weights_; }
  /// Tells this model from others, for saved states.
  [[nodiscard]] const Fingerprint& fingerprint() const { return fingerprint_; }

  /// The embedding row of a token. Shapes: out [D].
  /// Errors: kInvalidArgument (not in [0, V)), kUnsupported (a detokenizer stack has no tokens).
  Status embed(int32_t token, std::span<float> out) const;

  /// Runs T steps of a sequence, after those it already has.
  /// Shapes: inputs, hidden [T, D]; hidden is final-normed. They may be the same memory.
  /// Errors: kContextFull (past config().context_length), kOutOfMemory, kInternal (a hidden state
  /// that is not finite).
  ///         After an error the state must be dropped or truncated to a checkpoint; of several
  ///         states that ran at most kMaxPieceSteps steps, those that have moved on and whose
  ///         hidden rows are finite are as if the others had not been there.
  /// Cost:   no heap allocation once scratch has grown and state.reserve() has made room.
  /// With a trace all steps are computed in one piece; stage names are those of docs/model.md.
  Status forward(ops::Context& context, ConstMat inputs, SequenceState& state, Mat hidden,
                 const Trace* trace = nullptr) const;

  /// The same for several sequences in one pass over the weights: inputs holds the segments' rows
  /// one after the other. Every row gets the bits that it would get alone.
  Status forward(ops::Context& context, ConstMat inputs, std::span<const Segment> segments,
                 Mat hidden, const Trace* trace = nullptr) const;

  /// Shapes: hidden [T, D] (final-normed) -> out [T, V].
  /// Errors: kOutOfMemory, kInternal (a logit that is not finite), kUnsupported (a detokenizer
  /// stack).
  Status logits(ops::Context& context, ConstMat hidden, Mat out) const;

 private:
  Status forward_piece(ops::Context& context, ConstMat inputs, std::span<const Segment> segments,
                       Mat hidden, const Trace* trace) const;

  Config config_;
  Weights weights_;
  std::vector<float> inv_freq_;  // [d/2]
  Fingerprint fingerprint_;
};

}  // namespace rill::model::lfm2
