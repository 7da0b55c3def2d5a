// SPDX-License-Identifier: Apache-2.0
// The attention kernels for AVX-512.
#include "kernels/vec_avx512.h"

#define RILL_TIER(name) name##_avx512

namespace rill::kernels {
namespace {

// How much of a product is held in registers at once. 32 registers: 16 sums, 4 keys or values, 1
// query.
constexpr size_t kDotKeys = 16;    // keys for one query
constexpr size_t kDotQueries = 4;  // queries for four keys
constexpr size_t kKeyGroups = 1;   // groups of a cache's keys for up to four queries
constexpr size_t kSumQueries = 4;  // weighted sums at once,
constexpr size_t kSumVecs = 4;     // each of this many times 16 columns

}  // namespace
}  // namespace rill::kernels

#include "kernels/attention/attention_simd.h"
