// SPDX-License-Identifier: Apache-2.0
// The definition of the depthwise convolution.
#include "kernels/conv/conv.h"

namespace rill::kernels {

void depthwise_scalar(const DepthwiseArgs& args, float* out) {
  for (size_t i = 0; i < args.size; ++i) {
    float c = 0.0f;
    for (size_t tap = 0; tap < args.taps; ++tap) {
      c = __builtin_fmaf(args.weight[tap * args.size + i], args.rows[tap][i], c);
    }
    if (args.bias != nullptr) c = c + args.bias[i];
    if (args.conv_out != nullptr) args.conv_out[i] = c;
    if (args.scale != nullptr) c = __builtin_fmaf(c, args.scale[i], args.shift[i]);
    if (args.gate != nullptr) c = args.gate[i] * c;
    out[i] = c;
  }
}

}  // namespace rill::kernels
