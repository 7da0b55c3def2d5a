// SPDX-License-Identifier: Apache-2.0
// The depthwise convolution over Vec. Include a vec_<tier>.h and define RILL_TIER(name) first.
#include "kernels/conv/conv.h"

namespace rill::kernels {
namespace {

/// Channels i .. i + 15, of which `count` exist. Load and Save read and write that many.
template <typename Load, typename Save>
inline void depthwise_channels(const DepthwiseArgs& args, size_t i, float* out,
                               const Load& load_part, const Save& save_part) {
  Vec c = zero();
  for (size_t tap = 0; tap < args.taps; ++tap) {
    c = fma(load_part(args.weight + tap * args.size + i), load_part(args.rows[tap] + i), c);
  }
  if (args.bias != nullptr) c = add(c, load_part(args.bias + i));
  if (args.conv_out != nullptr) save_part(args.conv_out + i, c);
  if (args.scale != nullptr) c = fma(c, load_part(args.scale + i), load_part(args.shift + i));
  if (args.gate != nullptr) c = mul(load_part(args.gate + i), c);
  save_part(out + i, c);
}

}  // namespace

void RILL_TIER(depthwise)(const DepthwiseArgs& args, float* out) {
  size_t i = 0;
  for (; i + 16 <= args.size; i += 16) {
    depthwise_channels(
        args, i, out, [](const float* p) { return load(p); }, [](float* p, Vec v) { store(p, v); });
  }
  if (i < args.size) {
    const size_t rest = args.size - i;
    depthwise_channels(
        args, i, out, [rest](const float* p) { return load_first(p, rest); },
        [rest](float* p, Vec v) { store_first(p, v, rest); });
  }
}

}  // namespace rill::kernels
