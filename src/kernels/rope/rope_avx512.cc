// SPDX-License-Identifier: Apache-2.0
// The rope kernels for AVX-512.
#include "kernels/vec_avx512.h"

#define RILL_TIER(name) name##_avx512
#include "kernels/rope/rope_simd.h"
