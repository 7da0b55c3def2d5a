// SPDX-License-Identifier: Apache-2.0
// The rope kernels for NEON.
#include "kernels/vec_neon.h"

#define RILL_TIER(name) name##_neon
#include "kernels/rope/rope_simd.h"
