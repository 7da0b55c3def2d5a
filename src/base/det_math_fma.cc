// SPDX-License-Identifier: Apache-2.0
// Built with FMA instructions where the processor family has them.
#include "base/det_math_functions.h"
#include "base/det_math_polar.h"

namespace rill::det {

void polar_with_fma(const float* log_magnitude, const float* phase, size_t count, double* out) {
  polar_of(log_magnitude, phase, count, out);
}

}  // namespace rill::det
