// SPDX-License-Identifier: Apache-2.0
// The conv kernels for NEON.
#include "kernels/vec_neon.h"

#define RILL_TIER(name) name##_neon
#include "kernels/conv/conv_simd.h"
