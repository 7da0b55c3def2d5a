// SPDX-License-Identifier: Apache-2.0
// StepInput: what one step of a sequence is fed with. Text chat, transcription and speech are the
// same loop over it.
#pragma once

#include <cstdint>
#include <span>

namespace rill::session {

/// One step: a token id, or a ready embedding row (speech features, summed code embeddings).
struct StepInput {
  int32_t token = -1;          ///< used when row is empty
  std::span<const float> row;  ///< [D]; must stay alive during the call

  static StepInput of_token(int32_t token) { return {token, {}}; }
  static StepInput of_row(std::span<const float> row) { return {-1, row}; }
  [[nodiscard]] bool is_token() const { return row.empty(); }
};

}  // namespace rill::session
