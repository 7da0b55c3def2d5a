// SPDX-License-Identifier: Apache-2.0
// Speed of a model on this machine: what `rill bench` measures. The results are checked against the
// scalar tier before anything is timed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ops/context.h"
#include "tensor/dtype.h"

namespace rill::measure {

struct SpeedOptions {
  std::string model;            ///< a GGUF with a text model or backbone, or a package directory
  std::vector<size_t> prefill;  ///< prompt lengths; empty: no prompts
  std::vector<size_t> depths;   ///< steps before the decoded ones
  size_t decode = 32;           ///< tokens decoded at each depth; 0: no decoding
  size_t repeat = 5;  ///< runs of each measurement after one to warm up; the median is reported
  double audio_seconds = 0;  ///< audio for the encoder of a package; 0: no encoding
  size_t frames = 0;         ///< frames of speech of a package; 0: none
  size_t prompt_lookup =
      0;  ///< tokens guessed at once when prompt lookup is measured; 0: it is not
  DType kv_type = DType::kF16;
  bool repack = true;
  bool check = true;  ///< compare one step with the scalar tier first
};

/// Loads the model and measures. Keys of the answer: docs/performance.md.
/// Errors: those of loading; kInvalidArgument (nothing to measure, lengths past the context);
/// kInternal if the tier's
///         result is not the scalar one.
Result<Json> measure_speed(ops::Context& context, const SpeedOptions& options);

}  // namespace rill::measure
