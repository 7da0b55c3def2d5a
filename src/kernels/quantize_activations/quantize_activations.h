// SPDX-License-Identifier: Apache-2.0
// Contracts of the quantize_activations kernels. Leaf code: no threads, no allocation, no checks.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rill::kernels {

}  // namespace rill::kernels
