// SPDX-License-Identifier: Apache-2.0
// The rope kernels for AVX2.
#include "kernels/vec_avx2.h"

#define RILL_TIER(name) name##_avx2
#include "kernels/rope/rope_simd.h"
