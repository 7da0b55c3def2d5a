// SPDX-License-Identifier: Apache-2.0
// The attention kernels for NEON.
#include "kernels/vec_neon.h"

#define RILL_TIER(name) name##_neon

namespace rill::kernels {
namespace {

// How much of a product is held in registers at once. 32 registers, four per Vec: 4 sums, 1 to 4
// keys or values.
constexpr size_t kDotKeys = 4;     // keys for one query
constexpr size_t kDotQueries = 1;  // queries for four keys
constexpr size_t kKeyGroups = 1;   // groups of a cache's keys for up to four queries
constexpr size_t kSumQueries = 1;  // weighted sums at once,
constexpr size_t kSumVecs = 4;     // each of this many times 16 columns

}  // namespace
}  // namespace rill::kernels

#include "kernels/attention/attention_simd.h"
