// SPDX-License-Identifier: Apache-2.0
// The definition of the matrix products: one output at a time, in the order of docs/numerics.md,
// rules 4 and 5.
#include <math.h>
#include <string.h>

#include "kernels/matmul/matmul.h"
#include "quant/blocks.h"

namespace rill::kernels {
namespace {

using quant::kChunkValues;
using quant::kPanelRows;
using quant::PanelFormat;
using quant::PanelScales;

constexpr size_t kBlocksPerChunk = kChunkValues / 32;

float f32_from_bits(uint32_t bits) {
  float value = 0;
  memcpy(&value, &bits, 4);
  return value;
}

float f32_from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0)
    return copysignf(static_cast<float>(mantissa) * 0x1p-24f, sign != 0 ? -1.0f : 1.0f);
  if (exponent == 31) return f32_from_bits(sign | 0x7f800000 | mantissa << 13);
  return f32_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t load_u16(const uint8_t* p) {
  uint16_t bits = 0;
  memcpy(&bits, p, 2);
  return bits;
}

// Weight formats of rule 5: width in a panel and conversion.
struct F32 {
  static constexpr size_t kBytes = 4;
  static float load(const uint8_t* p) {
    float value = 0;
    memcpy(&value, p, 4);
    return value;
  }
};
struct F16 {
  static constexpr size_t kBytes = 2;
  static float load(const uint8_t* p) { return f32_from_half(load_u16(p)); }
};
struct BF16 {
  static constexpr size_t kBytes = 2;
  static float load(const uint8_t* p) {
    return f32_from_bits(static_cast<uint32_t>(load_u16(p)) << 16);
  }
};

// Rule 5: one output of a product with plain weights. `weights` is the row's first value in its
// panel.
template <typename Weight>
float plain_product(const uint8_t* weights, const float* x, size_t cols) {
  float acc = 0;
  for (size_t first = 0; first < cols; first += kChunkValues) {
    const size_t end = first + kChunkValues < cols ? first + kChunkValues : cols;
    float c = 0;
    for (size_t k = first; k < end; ++k) {
      c = fmaf(Weight::load(weights + k * kPanelRows * Weight::kBytes), x[k], c);
    }
    acc = acc + c;
  }
  return acc;
}

template <typename Weight>
void matmul_plain(const MatmulArgs& a) {
  for (size_t n = 0; n < a.rows; ++n) {
    const uint8_t* weights =
        a.panels + n / kPanelRows * a.panel_bytes + n % kPanelRows * Weight::kBytes;
    for (size_t t = 0; t < a.tokens; ++t) {
      a.out[t * a.out_stride + n] = plain_product<Weight>(weights, a.x + t * a.x_stride, a.cols);
    }
  }
}

// Where one row's part of a chunk of a panel lies.
struct RowReader {
  const uint8_t* chunk;
  const PanelFormat& format;
  size_t row;

  // Weight k (0..31) of a block, as an integer around zero.
  int quant(size_t block, size_t k) const {
    const size_t byte = row * 4 + k % 4;
    const size_t group = k / 4;
    const uint8_t* quants = chunk + quant::panel_quants_offset(format, block);
    if (format.quant_bytes == 512) return quants[group * 64 + byte] - format.zero_point;
    int q = quants[group % 4 * 64 + byte] >> (group < 4 ? 0 : 4) & 15;
    const uint8_t* plane = chunk + quant::panel_plane_offset(format, block);
    if (format.plane_bytes == 64) q |= (plane[byte] >> group & 1) << 4;
    if (format.plane_bytes == 128) {
      q |= (plane[group / 4 * 64 + byte] >> (group % 4 * 2) & 3) << 4;
    }
    return q - format.zero_point;
  }
  const uint8_t* scales(size_t block) const {
    return chunk + quant::panel_scales_offset(format, block);
  }
  // This row's entry in a line of half-precision numbers.
  float half(const uint8_t* line) const { return f32_from_half(load_u16(line + row * 2)); }
  float scale(size_t block) const {
    if (format.scales == PanelScales::kSuper) {
      return half(chunk) * static_cast<float>(scales(block)[row]);
    }
    return half(format.scales == PanelScales::kSuperHalves ? chunk : scales(block));
  }
  float minimum(size_t block) const {
    if (format.scales == PanelScales::kHalfMin) return half(scales(block) + 32);
    return half(chunk + 32) * static_cast<float>(scales(block)[16 + row]);
  }
  // Integer scale of 16 columns (Q6_K); 1 for the other types.
  int half_scale(size_t block, size_t half) const {
    if (format.scales != PanelScales::kSuperHalves) return 1;
    return static_cast<int8_t>(scales(block)[half * 16 + row]);
  }
};

// One row of a chunk, unpacked.
struct RowChunk {
  size_t blocks;
  bool has_minimum;
  int16_t q[kChunkValues];
  int half_scale[2 * kBlocksPerChunk];
  float scale[kBlocksPerChunk];
  float minimum[kBlocksPerChunk];
};

void unpack(const RowReader& from, size_t blocks, RowChunk* out) {
  out->blocks = blocks;
  out->has_minimum =
      from.format.scales == PanelScales::kHalfMin || from.format.scales == PanelScales::kSuper;
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t k = 0; k < 32; ++k) out->q[32 * b + k] = static_cast<int16_t>(from.quant(b, k));
    out->scale[b] = from.scale(b);
    if (out->has_minimum) out->minimum[b] = from.minimum(b);
    out->half_scale[2 * b] = from.half_scale(b, 0);
    out->half_scale[2 * b + 1] = from.half_scale(b, 1);
  }
}

// Rule 4, inside one chunk.
float chunk_product(const RowChunk& weights, const ActivationChunk& x) {
  float c = 0;
  for (size_t b = 0; b < weights.blocks; ++b) {
    int32_t product = 0;
    for (size_t half = 2 * b; half < 2 * b + 2; ++half) {
      int32_t sum = 0;
      for (size_t k = 16 * half; k < 16 * half + 16; ++k) sum += weights.q[k] * x.q[k];
      product += weights.half_scale[half] * sum;
    }
    c = fmaf(static_cast<float>(product), weights.scale[b] * x.scale[b], c);
    if (weights.has_minimum) {
      const int32_t x_sum = x.half_sums[2 * b] + x.half_sums[2 * b + 1];
      c = fmaf(static_cast<float>(x_sum), -(weights.minimum[b] * x.scale[b]), c);
    }
  }
  return c;
}

void matmul_quantized(const PanelFormat& format, const MatmulArgs& a) {
  const size_t blocks = a.cols / 32;
  for (size_t n = 0; n < a.rows; ++n) {
    for (size_t t = 0; t < a.tokens; ++t) a.out[t * a.out_stride + n] = 0;
    const uint8_t* chunk = a.panels + n / kPanelRows * a.panel_bytes;
    for (size_t first = 0; first < blocks; first += kBlocksPerChunk) {
      const size_t count = blocks - first < kBlocksPerChunk ? blocks - first : kBlocksPerChunk;
      RowChunk weights;
      unpack({chunk, format, n % kPanelRows}, count, &weights);
      const ActivationChunk* x = a.chunks + first / kBlocksPerChunk * a.chunk_stride;
      for (size_t t = 0; t < a.tokens; ++t) {
        float& acc = a.out[t * a.out_stride + n];
        acc = acc + chunk_product(weights, x[t]);
      }
      chunk += quant::panel_chunk_bytes(format, count);
    }
  }
}

}  // namespace

void matmul_f32_scalar(const MatmulArgs& args) { matmul_plain<F32>(args); }
void matmul_f16_scalar(const MatmulArgs& args) { matmul_plain<F16>(args); }
void matmul_bf16_scalar(const MatmulArgs& args) { matmul_plain<BF16>(args); }
void matmul_q8_0_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ8_0, args); }
void matmul_q4_0_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ4_0, args); }
void matmul_q4_1_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ4_1, args); }
void matmul_q5_0_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ5_0, args); }
void matmul_q5_1_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ5_1, args); }
void matmul_q4_k_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ4_K, args); }
void matmul_q5_k_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ5_K, args); }
void matmul_q6_k_scalar(const MatmulArgs& args) { matmul_quantized(quant::kPanelQ6_K, args); }

}  // namespace rill::kernels
