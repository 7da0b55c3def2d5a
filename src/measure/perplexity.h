// SPDX-License-Identifier: Apache-2.0
// Perplexity of a model on a text, and how far another model's predictions on it are from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ops/context.h"
#include "tensor/dtype.h"

namespace rill::measure {

/// What to compute. The text is cut into windows of `window` tokens that start every `stride`
/// tokens; a model that wants it gets its beginning-of-text token in the place of a window's first.
/// Scored are the tokens after a window's middle, of them only the last `stride`: with the default
/// stride these are the ones that llama-perplexity scores.
struct PerplexityOptions {
  std::string model;           ///< a GGUF, a checkpoint directory, or a speech package's directory
  std::string reference = {};  ///< another model with the same vocabulary to compare with; or empty
  std::string text;
  bool text_is_ids = false;  ///< `text` holds token ids, apart by white space; no token is added
  size_t window = 512;       ///< at least 4; a shorter text is one window
  size_t stride = 0;         ///< 0: as window
  size_t max_windows = 0;    ///< 0: all
  DType kv_type = DType::kF32;
  std::string logits_path =
      {};  ///< also write the scored positions' logits there, F32 [positions, V]
  /// Told the part done; false ends the work.
  std::function<bool(double)> progress = {};
};

/// Runs the model, and the reference, over the text. Keys of the answer: docs/cli.md. The sums are
/// taken in double precision in one order, so the figures do not depend on threads.
/// Errors: those of loading; kInvalidArgument (options, a text of fewer than 4 tokens, vocabularies
///         that differ), kCancelled, kIo.
Result<Json> measure_perplexity(ops::Context& context, const PerplexityOptions& options);

}  // namespace rill::measure
