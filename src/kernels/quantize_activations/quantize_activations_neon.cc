// SPDX-License-Identifier: Apache-2.0
// Activation quantization with NEON: half a block is four registers.
#include <arm_neon.h>

#include "kernels/quantize_activations/quantize_activations_block.h"

namespace rill::kernels {
namespace {

struct Neon {
  static uint32_t largest_bits(const float* x) {
    uint32x4_t largest = vdupq_n_u32(0);
    for (size_t i = 0; i < 32; i += 4) {
      largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
    }
    return vmaxvq_u32(largest);
  }
  static void quantize(const float* x, float inverse, int8_t* q, int16_t* half_sums) {
    for (size_t half = 0; half < 2; ++half) {
      int16x8_t words[2];
      for (size_t i = 0; i < 2; ++i) {
        const float* eight = x + 16 * half + 8 * i;
        // Rounded to nearest, halves to even.
        const int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(eight), inverse));
        const int32x4_t high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(eight + 4), inverse));
        words[i] = vcombine_s16(vmovn_s32(low), vmovn_s32(high));
      }
      vst1q_s8(q + 16 * half, vcombine_s8(vmovn_s16(words[0]), vmovn_s16(words[1])));
      half_sums[half] = vaddvq_s16(vaddq_s16(words[0], words[1]));
    }
  }
};

}  // namespace

void quantize_activations_neon(const float* x, size_t cols, ActivationChunk* out,
                               size_t out_stride) {
  quantize_row<Neon>(x, cols, out, out_stride);
}

}  // namespace rill::kernels
