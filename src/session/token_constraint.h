// SPDX-License-Identifier: Apache-2.0
// TokenConstraint: which tokens may come next. The generation loop knows ids only; what the ids
// spell, and which grammar they must follow, is behind this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace rill::session {

/// A rule that a reply's tokens follow, one token at a time. Threading: one thread.
class TokenConstraint {
 public:
  TokenConstraint() = default;
  TokenConstraint(const TokenConstraint&) = delete;
  TokenConstraint& operator=(const TokenConstraint&) = delete;
  virtual ~TokenConstraint() = default;

  /// Sets bit i % 64 of word i / 64 for every token i that may come next, and clears all others.
  /// The stop ids may come where the reply may end. Shape: [ceil(V / 64)].
  /// Errors: kInvalidArgument (no token may come next: the grammar cannot be spelled).
  virtual Status allowed(std::span<uint64_t> words) = 0;

  /// Moves on by a token that allowed() gave. Errors: kInvalidArgument (a token that it did not).
  virtual Status accept(int32_t token) = 0;
};

}  // namespace rill::session
