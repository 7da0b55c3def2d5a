// SPDX-License-Identifier: Apache-2.0
#include "quant/k_quants.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "quant/quantize.h"

namespace rill::quant {
namespace {

constexpr size_t kSubBlocks = 8;     // of 32 values, Q4_K and Q5_K
constexpr size_t kQ6SubBlocks = 16;  // of 16 values, Q6_K
constexpr int kMaxSixBits = 63;
constexpr int kCandidates = 20;  // grids tried per sub-block; more gain less than 0.1% of the error

int round_within(float value, int low, int high) {
  if (!(value > static_cast<float>(low))) return low;  // NaN too
  if (value >= static_cast<float>(high)) return high;
  return static_cast<int>(std::floor(value + 0.5f));
}

// What an error of each value costs. On a 4-bit grid those of large weights count more, |x| plus
// the block's root mean square: that predicts better than the least error does. Finer grids do best
// with the least error (docs/compatibility.md).
std::array<float, 32> weights_of(const float* x, int limit) {
  std::array<float, 32> weights;
  if (limit > 15) {
    weights.fill(1.0f);
    return weights;
  }
  float squares = 0;
  for (size_t i = 0; i < 32; ++i) squares += x[i] * x[i];
  const float rms = std::sqrt(squares / 32.0f);
  for (size_t i = 0; i < 32; ++i) weights[i] = rms + std::fabs(x[i]);
  return weights;
}

struct ScaleMinimum {
  float scale = 0;
  float minimum = 0;  // v = scale * q - minimum, minimum >= 0
};

// Quants for a given scale and minimum.
void quants_for(const float* x, ScaleMinimum fit, int limit, std::array<uint8_t, 32>& q) {
  const float inverse = fit.scale > 0 ? 1.0f / fit.scale : 0.0f;
  for (size_t i = 0; i < 32; ++i) {
    q[i] = static_cast<uint8_t>(round_within((x[i] + fit.minimum) * inverse, 0, limit));
  }
}

// Weighted least squares for scale and minimum, the quants being given.
ScaleMinimum solve(const float* x, const std::array<float, 32>& w,
                   const std::array<uint8_t, 32>& q) {
  double sw = 0, swq = 0, swqq = 0, swx = 0, swxq = 0;
  for (size_t i = 0; i < 32; ++i) {
    const double weight = w[i], quant = q[i];
    sw += weight;
    swq += weight * quant;
    swqq += weight * quant * quant;
    swx += weight * x[i];
    swxq += weight * x[i] * quant;
  }
  const double determinant = sw * swqq - swq * swq;
  double scale = 0, offset = 0;
  if (determinant > 0) {
    scale = (sw * swxq - swx * swq) / determinant;
    offset = (swqq * swx - swq * swxq) / determinant;
  }
  if (offset > 0 || determinant <= 0) {  // the format has no negative minimum
    offset = 0;
    scale = swqq > 0 ? swxq / swqq : 0;
  }
  return {static_cast<float>(std::max(scale, 0.0)), static_cast<float>(-offset)};
}

float error_of(const float* x, const std::array<float, 32>& w, const std::array<uint8_t, 32>& q,
               ScaleMinimum fit) {
  float error = 0;
  for (size_t i = 0; i < 32; ++i) {
    const float difference = fit.scale * static_cast<float>(q[i]) - fit.minimum - x[i];
    error += w[i] * difference * difference;
  }
  return error;
}

// The best scale and minimum of a sub-block for quants 0..limit.
ScaleMinimum fit_sub_block(const float* x, int limit) {
  const std::array<float, 32> w = weights_of(x, limit);
  const float low = std::min(*std::min_element(x, x + 32), 0.0f);
  const float high = *std::max_element(x, x + 32);
  if (!(high > low)) return {0.0f, -low};
  ScaleMinimum best = {(high - low) / static_cast<float>(limit), -low};
  std::array<uint8_t, 32> q;
  quants_for(x, best, limit, q);
  float best_error = error_of(x, w, q, best);
  for (int step = 0; step < kCandidates; ++step) {
    const float levels = static_cast<float>(limit) - 1.0f + 0.1f * static_cast<float>(step);
    quants_for(x, {(high - low) / levels, -low}, limit, q);
    const ScaleMinimum fit = solve(x, w, q);
    quants_for(x, fit, limit, q);
    const float error = error_of(x, w, q, fit);
    if (error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best;
}

// The stored scale and minimum around the rounded ones that fit the sub-block best: rounding each
// alone to 6 bits is not the best that the two can do together.
void choose_stored(const float* x, ScaleMinimum unit, int limit, uint8_t& scale, uint8_t& minimum) {
  const std::array<float, 32> w = weights_of(x, limit);
  const int first_scale = scale;
  const int first_minimum = minimum;
  std::array<uint8_t, 32> q;
  float best_error = -1;
  for (const int by_scale : {0, -1, 1}) {
    for (const int by_minimum : {0, -1, 1, -2, 2}) {
      const int s = std::clamp(first_scale + by_scale, 0, kMaxSixBits);
      const int m = std::clamp(first_minimum + by_minimum, 0, kMaxSixBits);
      const ScaleMinimum stored = {unit.scale * static_cast<float>(s),
                                   unit.minimum * static_cast<float>(m)};
      quants_for(x, stored, limit, q);
      const float error = error_of(x, w, q, stored);
      if (best_error >= 0 && !(error < best_error)) continue;
      best_error = error;
      scale = static_cast<uint8_t>(s);
      minimum = static_cast<uint8_t>(m);
    }
  }
}

// Scales, minimums and quants of a superblock of Q4_K (limit 15) or Q5_K (limit 31).
struct SuperBlock {
  uint16_t d = 0;
  uint16_t dmin = 0;
  SuperScales scales = {};
  std::array<std::array<uint8_t, 32>, kSubBlocks> q = {};
};

SuperBlock quantize_super_block(const float* values, int limit) {
  std::array<ScaleMinimum, kSubBlocks> fits;
  ScaleMinimum largest;
  for (size_t j = 0; j < kSubBlocks; ++j) {
    fits[j] = fit_sub_block(values + 32 * j, limit);
    largest.scale = std::max(largest.scale, fits[j].scale);
    largest.minimum = std::max(largest.minimum, fits[j].minimum);
  }
  SuperBlock out;
  out.d = float_to_half(largest.scale / kMaxSixBits);
  out.dmin = float_to_half(largest.minimum / kMaxSixBits);
  const float d = half_to_float(out.d);
  const float dmin = half_to_float(out.dmin);
  for (size_t j = 0; j < kSubBlocks; ++j) {
    const int scale = d > 0 ? round_within(fits[j].scale / d, 0, kMaxSixBits) : 0;
    const int minimum = dmin > 0 ? round_within(fits[j].minimum / dmin, 0, kMaxSixBits) : 0;
    out.scales.scale[j] = static_cast<uint8_t>(scale);
    out.scales.minimum[j] = static_cast<uint8_t>(minimum);
    choose_stored(values + 32 * j, {d, dmin}, limit, out.scales.scale[j], out.scales.minimum[j]);
    const ScaleMinimum stored = {d * static_cast<float>(out.scales.scale[j]),
                                 dmin * static_cast<float>(out.scales.minimum[j])};
    quants_for(values + 32 * j, stored, limit, out.q[j]);
  }
  return out;
}

void put_super_nibbles(const SuperBlock& block, uint8_t (&out)[128]) {
  for (size_t i = 0; i < 128; ++i) {
    const size_t pair = i / 32;
    out[i] = static_cast<uint8_t>((block.q[2 * pair][i % 32] & 15) |
                                  (block.q[2 * pair + 1][i % 32] & 15) << 4);
  }
}

// The best symmetric scale for 16 values and quants -32..31; may be negative.
float fit_q6_scale(const float* x) {
  float largest = x[0];
  for (size_t i = 1; i < 16; ++i) {
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  }
  if (!(std::fabs(largest) > 0)) return 0.0f;
  float best_gain = 0;
  float best = 0;
  for (int step = 0; step < kCandidates; ++step) {
    const float levels = 31.0f + 0.1f * static_cast<float>(step);
    const float inverse = -levels / largest;
    float sxq = 0, sqq = 0;
    for (size_t i = 0; i < 16; ++i) {
      const auto q = static_cast<float>(round_within(x[i] * inverse, -32, 31));
      sxq += x[i] * q;
      sqq += q * q;
    }
    // The error is sum(x^2) - sxq^2 / sqq at the best scale sxq / sqq.
    if (sqq > 0 && sxq * sxq > best_gain * sqq) {
      best_gain = sxq * sxq / sqq;
      best = sxq / sqq;
    }
  }
  return best;
}

void put_q6_quant(size_t i, uint8_t q, BlockQ6_K& block) {
  const size_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
  uint8_t& low = block.low[64 * half + 32 * (quarter % 2) + l];
  low = static_cast<uint8_t>(low | (q & 15) << (quarter < 2 ? 0 : 4));
  uint8_t& high = block.high[32 * half + l];
  high = static_cast<uint8_t>(high | (q >> 4) << (2 * quarter));
}

template <typename Block>
void read_super_block(const Block& block, float* out) {
  const float d = half_to_float(block.d);
  const float dmin = half_to_float(block.dmin);
  const SuperScales scales = unpack_scales(block.scales);
  for (size_t j = 0; j < kSubBlocks; ++j) {
    const float scale = d * static_cast<float>(scales.scale[j]);
    const float minimum = dmin * static_cast<float>(scales.minimum[j]);
    for (size_t l = 0; l < 32; ++l) {
      const int byte = block.q[j / 2 * 32 + l];
      int q = j % 2 == 0 ? byte & 15 : byte >> 4;
      if constexpr (sizeof(Block) == sizeof(BlockQ5_K)) q |= ((block.high[l] >> j) & 1) << 4;
      out[32 * j + l] = scale * static_cast<float>(q) - minimum;
    }
  }
}

}  // namespace

SuperScales unpack_scales(const uint8_t (&b)[12]) {
  SuperScales out = {};
  for (size_t j = 0; j < 4; ++j) {
    out.scale[j] = b[j] & 63;
    out.minimum[j] = b[j + 4] & 63;
    out.scale[j + 4] = static_cast<uint8_t>((b[j + 8] & 15) | (b[j] >> 6) << 4);
    out.minimum[j + 4] = static_cast<uint8_t>(b[j + 8] >> 4 | (b[j + 4] >> 6) << 4);
  }
  return out;
}

void pack_scales(const SuperScales& scales, uint8_t (&b)[12]) {
  for (size_t j = 0; j < 4; ++j) {
    b[j] = static_cast<uint8_t>(scales.scale[j] | (scales.scale[j + 4] >> 4) << 6);
    b[j + 4] = static_cast<uint8_t>(scales.minimum[j] | (scales.minimum[j + 4] >> 4) << 6);
    b[j + 8] = static_cast<uint8_t>((scales.scale[j + 4] & 15) | (scales.minimum[j + 4] & 15) << 4);
  }
}

void read_q4_k(const BlockQ4_K& block, float* out) { read_super_block(block, out); }
void read_q5_k(const BlockQ5_K& block, float* out) { read_super_block(block, out); }

uint8_t q6_k_quant(const BlockQ6_K& block, size_t i) {
  const size_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
  const int low = block.low[64 * half + 32 * (quarter % 2) + l] >> (quarter < 2 ? 0 : 4) & 15;
  const int high = block.high[32 * half + l] >> (2 * quarter) & 3;
  return static_cast<uint8_t>(low | high << 4);
}

void read_q6_k(const BlockQ6_K& block, float* out) {
  const float d = half_to_float(block.d);
  for (size_t i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(block.scales[i / 16]);
    out[i] = scale * static_cast<float>(q6_k_quant(block, i) - 32);
  }
}

void write_block(const float* values, BlockQ4_K& block) {
  const SuperBlock super = quantize_super_block(values, 15);
  block.d = super.d;
  block.dmin = super.dmin;
  pack_scales(super.scales, block.scales);
  put_super_nibbles(super, block.q);
}

void write_block(const float* values, BlockQ5_K& block) {
  const SuperBlock super = quantize_super_block(values, 31);
  block.d = super.d;
  block.dmin = super.dmin;
  pack_scales(super.scales, block.scales);
  put_super_nibbles(super, block.q);
  for (size_t l = 0; l < 32; ++l) {
    int bits = 0;
    for (size_t j = 0; j < kSubBlocks; ++j) bits |= (super.q[j][l] >> 4) << j;
    block.high[l] = static_cast<uint8_t>(bits);
  }
}

void write_block(const float* values, BlockQ6_K& block) {
  std::array<float, kQ6SubBlocks> fits;
  float largest = 0;  // with its sign: it becomes scale -128
  for (size_t j = 0; j < kQ6SubBlocks; ++j) {
    fits[j] = fit_q6_scale(values + 16 * j);
    if (std::fabs(fits[j]) > std::fabs(largest)) largest = fits[j];
  }
  block = {};
  block.d = float_to_half(largest / -128.0f);
  const float d = half_to_float(block.d);
  for (size_t j = 0; j < kQ6SubBlocks; ++j) {
    const int scale = d != 0 ? round_within(fits[j] / d, -128, 127) : 0;
    block.scales[j] = static_cast<int8_t>(scale);
    const float step = d * static_cast<float>(scale);
    for (size_t l = 0; l < 16; ++l) {
      const float scaled = step != 0 ? values[16 * j + l] / step : 0.0f;
      put_q6_quant(16 * j + l, static_cast<uint8_t>(round_within(scaled, -32, 31) + 32), block);
    }
  }
}

}  // namespace rill::quant
