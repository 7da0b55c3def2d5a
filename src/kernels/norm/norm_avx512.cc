// SPDX-License-Identifier: Apache-2.0
// The norm kernels for AVX-512.
#include "kernels/vec_avx512.h"

#define RILL_TIER(name) name##_avx512
#include "kernels/norm/norm_simd.h"
