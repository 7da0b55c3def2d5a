// SPDX-License-Identifier: Apache-2.0
// The builds of det::polar, for it and its test.
#pragma once

#include <cstddef>

namespace rill::det {

void polar_without_fma(const float* log_magnitude, const float* phase, size_t count, double* out);
#if defined(__x86_64__)
/// For processors with FMA instructions.
void polar_with_fma(const float* log_magnitude, const float* phase, size_t count, double* out);
#endif

}  // namespace rill::det
