// SPDX-License-Identifier: Apache-2.0
// How much a token costs: multiply-adds of each part, and the bytes that decoding it reads.
#pragma once

#include <cstddef>

#include "base/json.h"
#include "format/gguf.h"
#include "model/lfm2/config.h"
#include "tensor/dtype.h"

namespace rill::inspect {

/// Multiply-adds of one token, part by part. FLOPs are two for each.
struct TokenWork {
  size_t conv = 0;       ///< all short-convolution operators
  size_t attention = 0;  ///< projections of all attention operators
  size_t feed_forward = 0;
  size_t router = 0;
  size_t head = 0;
  size_t per_position = 0;  ///< attention: for each position that the token sees, itself included

  /// Without the head, for a token that sees `positions` positions.
  [[nodiscard]] size_t layers(size_t positions) const {
    return conv + attention + feed_forward + router + positions * per_position;
  }
};

/// Only experts that are used count.
[[nodiscard]] TokenWork token_work(const model::lfm2::Config& config);

/// FLOPs of a token and of a prompt of `context` tokens, bytes that are read to decode a token
/// after it.
[[nodiscard]] Json work_plan(const format::GgufFile& file, const model::lfm2::Config& config,
                             DType kv_type, size_t context);

}  // namespace rill::inspect
