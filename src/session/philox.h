// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10: a counter-based random generator, so that a draw depends on (seed, stream, step)
// alone.
#pragma once

#include <array>
#include <cstdint>

namespace rill::session {

/// Ten rounds of Philox 4x32. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011.
[[nodiscard]] std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                                 std::array<uint32_t, 2> key);

/// A uniform number in [0, 1) with 53 random bits, for a step of a stream of a seed.
[[nodiscard]] double philox_uniform(uint64_t seed, uint64_t stream, uint64_t step);

}  // namespace rill::session
