// SPDX-License-Identifier: Apache-2.0
// Matrix products with NEON and its dot product: matmul_tile.h with 16 rows in four registers.
#include <arm_neon.h>

#include "kernels/matmul/matmul_tile.h"

namespace rill::kernels {
namespace {

struct Neon {
  struct F32 {
    float32x4_t q[4];
  };
  struct I32 {
    int32x4_t q[4];
  };
  struct U8 {
    uint8x16_t q[4];  // [16 rows][4 columns]
  };
  using X = int8x16_t;  // four activations, 4 times

  // Tile sizes, for 32 registers.
  static constexpr int kTilePanels = 1;
  static constexpr int kTileTokens = 3;
  static constexpr int kHalvesTokens = 2;
  static constexpr int kPlainTilePanels = 1;
  static constexpr int kPlainTileTokens = 6;
  // Few tokens.
  static constexpr int kDirectTokens = 4;
  static constexpr int kDirectPanels = 2;
  static constexpr int kPlainDirectPanels = 2;

  template <class Out, class Fn>
  static RILL_INLINE Out each(const Fn& fn) {
    return {{fn(0), fn(1), fn(2), fn(3)}};
  }

  static RILL_INLINE F32 zero_f32() { return set_f32(0.0f); }
  static RILL_INLINE F32 set_f32(float x) {
    const float32x4_t v = vdupq_n_f32(x);
    return {{v, v, v, v}};
  }
  static RILL_INLINE F32 load_f32(const float* p) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  }
  static RILL_INLINE void store_f32(float* p, F32 v) {
    RILL_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v.q[i]);
  }
  static RILL_INLINE F32 mul(F32 a, F32 b) {
    return each<F32>([&](int i) { return vmulq_f32(a.q[i], b.q[i]); });
  }
  static RILL_INLINE F32 add(F32 a, F32 b) {
    return each<F32>([&](int i) { return vaddq_f32(a.q[i], b.q[i]); });
  }
  static RILL_INLINE F32 fma(F32 a, F32 b, F32 c) {
    return each<F32>([&](int i) { return vfmaq_f32(c.q[i], a.q[i], b.q[i]); });
  }
  // -(a * b) + c
  static RILL_INLINE F32 fnma(F32 a, F32 b, F32 c) {
    return each<F32>([&](int i) { return vfmsq_f32(c.q[i], a.q[i], b.q[i]); });
  }
  static RILL_INLINE F32 to_f32(I32 v) {
    return each<F32>([&](int i) { return vcvtq_f32_s32(v.q[i]); });
  }
  static RILL_INLINE F32 load_half(const uint8_t* p) {
    return each<F32>([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p + 8 * i))); });
  }
  static RILL_INLINE F32 load_bf16(const uint8_t* p) {
    return each<F32>([&](int i) {
      return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p + 8 * i)), 16));
    });
  }
  static RILL_INLINE F32 load_u8_f32(const uint8_t* p) {
    const uint8x16_t bytes = vld1q_u8(p);
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
    return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))), vcvtq_f32_u32(vmovl_high_u16(low)),
             vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))), vcvtq_f32_u32(vmovl_high_u16(high))}};
  }

  static RILL_INLINE I32 set_i32(int32_t x) {
    const int32x4_t v = vdupq_n_s32(x);
    return {{v, v, v, v}};
  }
  static RILL_INLINE I32 load_i32(const int32_t* p) {
    return {{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}};
  }
  static RILL_INLINE void store_i32(int32_t* p, I32 v) {
    RILL_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_s32(p + 4 * i, v.q[i]);
  }
  static RILL_INLINE I32 load_i8_i32(const uint8_t* p) {
    const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(p));
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
    return {{vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)),
             vmovl_high_s16(high)}};
  }
  static RILL_INLINE I32 add_i32(I32 a, I32 b) {
    return each<I32>([&](int i) { return vaddq_s32(a.q[i], b.q[i]); });
  }
  static RILL_INLINE I32 mul_i32(I32 a, I32 b) {
    return each<I32>([&](int i) { return vmulq_s32(a.q[i], b.q[i]); });
  }

  static RILL_INLINE U8 load_u8(const uint8_t* p) {
    return {{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
  }
  static RILL_INLINE void store_u8(uint8_t* p, U8 v) {
    RILL_UNROLL
    for (int i = 0; i < 4; ++i) vst1q_u8(p + 16 * i, v.q[i]);
  }
  static RILL_INLINE U8 low_nibbles(U8 v) {
    return each<U8>([&](int i) { return vandq_u8(v.q[i], vdupq_n_u8(15)); });
  }
  static RILL_INLINE U8 high_nibbles(U8 v) {
    return each<U8>([&](int i) { return vshrq_n_u8(v.q[i], 4); });
  }
  // Joins bit `group` of each plane byte above the nibbles.
  static RILL_INLINE U8 add_bit(U8 nibbles, U8 plane, int group) {
    const int8x16_t places = vdupq_n_s8(static_cast<int8_t>(4 - group));
    return each<U8>([&](int i) {
      return vorrq_u8(nibbles.q[i], vandq_u8(vshlq_u8(plane.q[i], places), vdupq_n_u8(0x10)));
    });
  }
  // Joins bits 2i, 2i + 1 of each plane byte above the nibbles.
  static RILL_INLINE U8 add_two_bits(U8 nibbles, U8 plane, int i) {
    const int8x16_t places = vdupq_n_s8(static_cast<int8_t>(4 - 2 * i));
    return each<U8>([&](int r) {
      return vorrq_u8(nibbles.q[r], vandq_u8(vshlq_u8(plane.q[r], places), vdupq_n_u8(0x30)));
    });
  }

  static RILL_INLINE X broadcast(const int8_t* q) {
    int32_t four = 0;
    memcpy(&four, q, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }
  static constexpr int kByteZeroPoint = 0;  // dot_bytes takes 128 off itself
  static RILL_INLINE I32 dot_bytes(I32 acc, U8 w, X x) {
    return each<I32>([&](int i) {
      return vdotq_s32(acc.q[i], vreinterpretq_s8_u8(veorq_u8(w.q[i], vdupq_n_u8(0x80))), x);
    });
  }
  // Weights below 128 are the same number signed and unsigned.
  static RILL_INLINE I32 dot_small(I32 acc, U8 w, X x) {
    return each<I32>([&](int i) { return vdotq_s32(acc.q[i], vreinterpretq_s8_u8(w.q[i]), x); });
  }
  // out[b] = factor * the sum of block b's activations.
  static RILL_INLINE void block_sums(const int16_t* half_sums, int factor, int32_t* out) {
    for (int b = 0; b < 8; b += 4) {
      vst1q_s32(out + b, vmulq_n_s32(vpaddlq_s16(vld1q_s16(half_sums + 2 * b)), factor));
    }
  }
  // out[h] = factor * half sum h.
  static RILL_INLINE void half_sums(const int16_t* half_sums, int factor, int32_t* out) {
    for (int h = 0; h < 16; ++h) out[h] = factor * half_sums[h];
  }
};

}  // namespace

RILL_DEFINE_MATMULS(neon, Neon)

}  // namespace rill::kernels
