// SPDX-License-Identifier: Apache-2.0
// The encoder's table of relative positions.
#pragma once

#include "tensor/tensor.h"

namespace rill::model::conformer {

/// Rows for the relative positions T-1, T-2, ..., -(T-1): element 2i is sin(p w_i), 2i+1 is cos(p
/// w_i). The angles are formed in F32 as the reference does; their sines and cosines in double. Any
/// T. Shapes: out [2T-1, D], D even. Source: liquid-audio conformer, RelPositionalEncoding.
void relative_positions(Mat out);

}  // namespace rill::model::conformer
