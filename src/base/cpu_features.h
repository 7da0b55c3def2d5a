// SPDX-License-Identifier: Apache-2.0
// What the processor can do, and which kernel tier rill takes on it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rill {

/// Kernel tiers, slowest first within each processor family.
enum class IsaTier {
  kScalar,      ///< plain C++: the definition that every other tier equals bit for bit
  kAvx2,        ///< AVX2, FMA, F16C
  kAvx512,      ///< AVX-512 F, BW, VL, DQ
  kAvx512Vnni,  ///< kAvx512 and AVX512_VNNI
  kNeon,        ///< Armv8 Advanced SIMD with the dot product extension
};

/// The name used by RILL_ISA and `rill inspect cpu`: scalar, avx2, avx512, avx512vnni, neon.
[[nodiscard]] std::string_view isa_tier_name(IsaTier tier);

/// True if this processor (and operating system) can run the tier.
[[nodiscard]] bool cpu_supports(IsaTier tier);

/// The best tier that the processor has, or the one named by `forced` (empty: best).
/// Errors: kInvalidArgument (unknown name), kUnsupported (the processor lacks it).
Result<IsaTier> choose_isa_tier(std::string_view forced);

/// True if this processor reads weights, keys and values faster when several streams of them are
/// asked for into its first cache level before they are needed; false if its own prefetching of a
/// single stream does better, or prefetching into the second level (docs/performance.md has the
/// measurements). A matter of speed alone.
[[nodiscard]] bool cpu_gains_from_prefetch();

/// The processor's name as it reports itself, or "unknown".
[[nodiscard]] std::string cpu_model_name();

}  // namespace rill
