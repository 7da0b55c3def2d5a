// SPDX-License-Identifier: Apache-2.0
#include "quant/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/k_quants.h"

namespace rill::quant {
namespace {

uint32_t float_bits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float bits_float(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

template <typename T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

// Calls read(block, out of the block) for every block of a row.
template <typename Block, size_t kValues, typename Read>
void each_block(const std::byte* source, std::span<float> out, const Read& read) {
  for (size_t i = 0; i < out.size(); i += kValues, source += sizeof(Block)) {
    read(load<Block>(source), out.data() + i);
  }
}

uint32_t high_bits(const uint8_t (&high)[4]) {
  return uint32_t{high[0]} | uint32_t{high[1]} << 8 | uint32_t{high[2]} << 16 |
         uint32_t{high[3]} << 24;
}

// Quant of value i in a block of nibbles (Q4_0, Q4_1, Q5_0, Q5_1) with a fifth bit in `high`.
int nibble(const uint8_t (&q)[16], uint32_t high, size_t i) {
  const int low = i < 16 ? q[i] & 15 : q[i - 16] >> 4;
  return low | static_cast<int>((high >> i) & 1) << 4;
}

void read_block(const BlockQ8_0& b, float* out) {
  const float d = half_to_float(b.d);
  for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(b.q[i]);
}
void read_block(const BlockQ4_0& b, float* out) {
  const float d = half_to_float(b.d);
  for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(b.q, 0, i) - 8);
}
void read_block(const BlockQ4_1& b, float* out) {
  const float d = half_to_float(b.d);
  const float m = half_to_float(b.m);
  for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(b.q, 0, i)) + m;
}
void read_block(const BlockQ5_0& b, float* out) {
  const float d = half_to_float(b.d);
  const uint32_t high = high_bits(b.high);
  for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(b.q, high, i) - 16);
}
void read_block(const BlockQ5_1& b, float* out) {
  const float d = half_to_float(b.d);
  const float m = half_to_float(b.m);
  const uint32_t high = high_bits(b.high);
  for (size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(b.q, high, i)) + m;
}

// The largest magnitude of a block, with its sign; the first one where several are equal.
float signed_max(const float* x) {
  float best = x[0];
  for (size_t i = 1; i < 32; ++i) {
    if (std::fabs(x[i]) > std::fabs(best)) best = x[i];
  }
  return best;
}

float inverse(float d) { return d == 0.0f ? 0.0f : 1.0f / d; }

// q = trunc(x / d + offset) within [0, limit]. NaN gives 0.
uint8_t quant(double scaled, int limit) {
  if (!(scaled > 0.0)) return 0;
  return static_cast<uint8_t>(scaled < limit ? static_cast<int>(scaled) : limit);
}

void put_nibbles(const std::array<uint8_t, 32>& q, uint8_t (&out)[16]) {
  for (size_t i = 0; i < 16; ++i)
    out[i] = static_cast<uint8_t>((q[i] & 15) | (q[i + 16] & 15) << 4);
}

void put_high_bits(const std::array<uint8_t, 32>& q, uint8_t (&out)[4]) {
  for (size_t i = 0; i < 32; ++i) {
    if (i % 8 == 0) out[i / 8] = 0;
    out[i / 8] = static_cast<uint8_t>(out[i / 8] | ((q[i] >> 4) & 1) << (i % 8));
  }
}

// Symmetric types: the largest magnitude becomes the most negative quant, -zero_point.
float quantize_symmetric(const float* x, int zero_point, std::array<uint8_t, 32>& q) {
  const float d = signed_max(x) / static_cast<float>(-zero_point);
  const double id = inverse(d);
  for (size_t i = 0; i < 32; ++i) {
    q[i] = quant(static_cast<double>(x[i]) * id + (zero_point + 0.5), 2 * zero_point - 1);
  }
  return d;
}

struct Range {
  float low;
  float high;
};

// The range of a block; of equal values (+0 and -0) the last counts, as in the reference quantizer.
Range range_of(const float* x) {
  Range range = {x[0], x[0]};
  for (size_t i = 1; i < 32; ++i) {
    if (x[i] <= range.low) range.low = x[i];
    if (x[i] >= range.high) range.high = x[i];
  }
  return range;
}

struct ScaleMin {
  float d;
  float m;
};

// Asymmetric types: the range of the block is spread over [0, limit].
ScaleMin quantize_range(const float* x, int limit, std::array<uint8_t, 32>& q) {
  const auto [low, high] = range_of(x);
  const float d = (high - low) / static_cast<float>(limit);
  const float id = inverse(d);
  for (size_t i = 0; i < 32; ++i) q[i] = quant((x[i] - low) * id + 0.5f, limit);
  return {d, low};
}

void write_block(const float* x, BlockQ8_0& b) {
  float largest = 0;
  for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float d = largest / 127.0f;
  const float id = inverse(d);
  b.d = float_to_half(d);
  for (size_t i = 0; i < 32; ++i) {
    const float scaled = std::fabs(x[i] * id);
    const int q = quant(scaled + 0.5f, 127);  // halves away from zero
    b.q[i] = static_cast<int8_t>(x[i] < 0 ? -q : q);
  }
}
void write_block(const float* x, BlockQ4_0& b) {
  std::array<uint8_t, 32> q;
  b.d = float_to_half(quantize_symmetric(x, 8, q));
  put_nibbles(q, b.q);
}
void write_block(const float* x, BlockQ4_1& b) {
  std::array<uint8_t, 32> q;
  const ScaleMin r = quantize_range(x, 15, q);
  b.d = float_to_half(r.d);
  b.m = float_to_half(r.m);
  put_nibbles(q, b.q);
}
void write_block(const float* x, BlockQ5_0& b) {
  std::array<uint8_t, 32> q;
  b.d = float_to_half(quantize_symmetric(x, 16, q));
  put_nibbles(q, b.q);
  put_high_bits(q, b.high);
}
void write_block(const float* x, BlockQ5_1& b) {
  std::array<uint8_t, 32> q;
  const ScaleMin r = quantize_range(x, 31, q);
  b.d = float_to_half(r.d);
  b.m = float_to_half(r.m);
  put_nibbles(q, b.q);
  put_high_bits(q, b.high);
}

template <typename Block, size_t kValues>
void read_row(const std::byte* source, std::span<float> out) {
  each_block<Block, kValues>(source, out,
                             [](const Block& b, float* values) { read_block(b, values); });
}

template <typename Block, size_t kValues>
void write_row(std::span<const float> values, std::byte* out) {
  for (size_t i = 0; i < values.size(); i += kValues, out += sizeof(Block)) {
    Block block = {};
    write_block(values.data() + i, block);
    std::memcpy(out, &block, sizeof(block));
  }
}

template <typename Convert>
void read_16_bits(const std::byte* source, std::span<float> out, const Convert& convert) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = convert(load<uint16_t>(source + 2 * i));
}

template <typename Convert>
void write_16_bits(std::span<const float> values, std::byte* out, const Convert& convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = convert(values[i]);
    std::memcpy(out + 2 * i, &bits, sizeof(bits));
  }
}

}  // namespace

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {  // zero or denormal: mantissa * 2^-24, exact
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return bits_float(float_bits(magnitude) | sign);
  }
  if (exponent == 31) {  // infinity, or NaN (quieted)
    return bits_float(sign | 0x7f800000 | (mantissa != 0 ? 0x400000u : 0u) | mantissa << 13);
  }
  return bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t float_to_half(float value) {
  const uint32_t bits = float_bits(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half = 0;
  if (magnitude > 0x7f800000) {
    half = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= 0x477ff000) {  // rounds to 65536 or more
    half = 0x7c00;
  } else if (magnitude <
             0x38800000) {  // below 2^-14: a denormal; adding 0.5 rounds to its last place, 2^-24
    half = float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000;
  } else {
    half = (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

float bf16_to_float(uint16_t bits) { return bits_float(static_cast<uint32_t>(bits) << 16); }

uint16_t float_to_bf16(float value) {
  const uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);  // a quiet NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void dequantize_row(DType type, const std::byte* source, std::span<float> out) {
  RILL_CHECK(out.size() % dtype_info(type).block_values == 0, "dequantize_row: a part of a block");
  switch (type) {
    case DType::kF32:
      if (!out.empty()) std::memcpy(out.data(), source, out.size_bytes());
      return;
    case DType::kF16:
      return read_16_bits(source, out, half_to_float);
    case DType::kBF16:
      return read_16_bits(source, out, bf16_to_float);
    case DType::kQ8_0:
      return read_row<BlockQ8_0, 32>(source, out);
    case DType::kQ4_0:
      return read_row<BlockQ4_0, 32>(source, out);
    case DType::kQ4_1:
      return read_row<BlockQ4_1, 32>(source, out);
    case DType::kQ5_0:
      return read_row<BlockQ5_0, 32>(source, out);
    case DType::kQ5_1:
      return read_row<BlockQ5_1, 32>(source, out);
    case DType::kQ4_K:
      return each_block<BlockQ4_K, 256>(source, out, read_q4_k);
    case DType::kQ5_K:
      return each_block<BlockQ5_K, 256>(source, out, read_q5_k);
    case DType::kQ6_K:
      return each_block<BlockQ6_K, 256>(source, out, read_q6_k);
    default:
      panic(__FILE__, __LINE__, "dequantize_row: not a type of weights");
  }
}

void quantize_row(DType type, std::span<const float> values, std::byte* out) {
  RILL_CHECK(values.size() % dtype_info(type).block_values == 0, "quantize_row: a part of a block");
  switch (type) {
    case DType::kF32:
      if (!values.empty()) std::memcpy(out, values.data(), values.size_bytes());
      return;
    case DType::kF16:
      return write_16_bits(values, out, float_to_half);
    case DType::kBF16:
      return write_16_bits(values, out, float_to_bf16);
    case DType::kQ8_0:
      return write_row<BlockQ8_0, 32>(values, out);
    case DType::kQ4_0:
      return write_row<BlockQ4_0, 32>(values, out);
    case DType::kQ4_1:
      return write_row<BlockQ4_1, 32>(values, out);
    case DType::kQ5_0:
      return write_row<BlockQ5_0, 32>(values, out);
    case DType::kQ5_1:
      return write_row<BlockQ5_1, 32>(values, out);
    case DType::kQ4_K:
      return write_row<BlockQ4_K, 256>(values, out);
    case DType::kQ5_K:
      return write_row<BlockQ5_K, 256>(values, out);
    case DType::kQ6_K:
      return write_row<BlockQ6_K, 256>(values, out);
    default:
      panic(__FILE__, __LINE__, "quantize_row: not a type of weights");
  }
}

}  // namespace rill::quant
