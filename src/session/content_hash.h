// SPDX-License-Identifier: Apache-2.0
// ContentHash: what a sequence was fed with, as a hash chain with a link for every step. Equal
// hashes mean equal steps, bit for bit, so states are found by content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sha256.h"
#include "session/step_input.h"

namespace rill::session {

/// Of all steps so far, in order; all zero before the first.
using ContentHash = std::array<uint8_t, 32>;

/// The hash after one more step. It covers the kind of the step and its id or row.
[[nodiscard]] inline ContentHash extend_content(const ContentHash& before, const StepInput& step) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(before)));
  const std::byte kind{static_cast<unsigned char>(step.is_token() ? 't' : 'r')};
  hash.update({&kind, 1});
  hash.update(step.is_token() ? std::as_bytes(std::span(&step.token, 1)) : std::as_bytes(step.row));
  return hash.finish();
}

}  // namespace rill::session
