// SPDX-License-Identifier: Apache-2.0
// The norm kernels for NEON.
#include "kernels/vec_neon.h"

#define RILL_TIER(name) name##_neon
#include "kernels/norm/norm_simd.h"
