// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels for AVX2.
#include "kernels/vec_avx2.h"

#define RILL_TIER(name) name##_avx2
#include "kernels/elementwise/elementwise_simd.h"
