// SPDX-License-Identifier: Apache-2.0
// Adapter: the small network that turns encoder rows into backbone embeddings.
#pragma once

#include "base/result.h"
#include "model/conformer/config.h"
#include "model/conformer/weights.h"
#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"

namespace rill::model::conformer {

/// LayerNorm, linear, exact GELU, linear. Threading: const after loading.
class Adapter {
 public:
  /// Errors: those of load_adapter_weights. Lifetime: as Encoder::load.
  static Result<Adapter> load(const WeightReader& reader, const Config& config);

  /// Width of its output, which must be the backbone's.
  [[nodiscard]] size_t output_size() const { return weights_.down.weight.rows(); }

  /// Shapes: x [A, D] -> out [A, output_size()]. Stage: adapter. Errors: kOutOfMemory (scratch).
  /// Source: liquid-audio model/mlp.py, MLP as audio_adapter.
  Status apply(ops::Context& context, ConstMat x, Mat out, const Trace* trace = nullptr) const;

 private:
  float layer_norm_eps_ = 0;
  AdapterWeights weights_;
};

}  // namespace rill::model::conformer
