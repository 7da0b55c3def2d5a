// SPDX-License-Identifier: Apache-2.0
// The attention kernels for AVX2.
#include "kernels/vec_avx2.h"

#define RILL_TIER(name) name##_avx2

namespace rill::kernels {
namespace {

// How much of a product is held in registers at once. 16 registers, two per Vec: 4 sums, the rest
// is loaded.
constexpr size_t kDotKeys = 4;     // keys for one query
constexpr size_t kDotQueries = 1;  // queries for four keys
constexpr size_t kKeyGroups = 1;   // groups of a cache's keys for up to four queries
constexpr size_t kSumQueries = 2;  // weighted sums at once,
constexpr size_t kSumVecs = 2;     // each of this many times 16 columns

}  // namespace
}  // namespace rill::kernels

#include "kernels/attention/attention_simd.h"
