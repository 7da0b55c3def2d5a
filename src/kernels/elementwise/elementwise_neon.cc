// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels for NEON.
#include "kernels/vec_neon.h"

#define RILL_TIER(name) name##_neon
#include "kernels/elementwise/elementwise_simd.h"
