// SPDX-License-Identifier: Apache-2.0
#include "quant/pack_panel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/k_quants.h"
#include "quant/quantize.h"

namespace rill::quant {
namespace {

constexpr size_t kBlocksPerChunk = kChunkValues / kBlockValues;

// A chunk of a panel, being written.
struct ChunkWriter {
  uint8_t* chunk;
  const PanelFormat& format;

  void put_group(size_t block, size_t group, size_t row, const void* four) const {
    std::memcpy(chunk + panel_quants_offset(format, block) + group * 64 + row * 4, four, 4);
  }
  [[nodiscard]] uint8_t* plane(size_t block, size_t row) const {
    return chunk + panel_plane_offset(format, block) + row * 4;
  }
  [[nodiscard]] uint8_t* scales(size_t block) const {
    return chunk + panel_scales_offset(format, block);
  }
  void put_nibbles(size_t block, size_t row, const std::array<uint8_t, 16>& nibbles) const {
    for (size_t g = 0; g < 4; ++g) put_group(block, g, row, nibbles.data() + 4 * g);
  }
};

// Puts a row's half-precision number into a line of them.
void put_half(uint8_t* line, size_t row, uint16_t bits) { std::memcpy(line + row * 2, &bits, 2); }

// Gathers bits 0, 4, 8, ..., 28 of `bits` into a byte.
uint8_t every_fourth_bit(uint32_t bits) {
  uint32_t x = bits & 0x11111111;
  x = (x | x >> 3) & 0x03030303;
  x = (x | x >> 6) & 0x000f000f;
  return static_cast<uint8_t>(x | x >> 12);
}

void put_fifth_bits(const ChunkWriter& out, size_t block, size_t row, uint32_t bits) {
  uint8_t* plane = out.plane(block, row);
  for (size_t j = 0; j < 4; ++j) plane[j] = every_fourth_bit(bits >> j);
}

// Four bytes as one word; what is done to it treats its bytes alike.
uint32_t load_word(const uint8_t* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

uint32_t load_le32(const uint8_t (&b)[4]) {
  return uint32_t{b[0]} | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

template <typename Block>
void put_simple(const Block& b, size_t block, size_t row, const ChunkWriter& out) {
  std::array<uint8_t, 16> nibbles;
  std::copy(b.q, b.q + 16, nibbles.begin());
  out.put_nibbles(block, row, nibbles);
  put_half(out.scales(block), row, b.d);
}

// The minimum is -m: the sign bit flips.
void put_minimum(uint16_t m, size_t block, size_t row, const ChunkWriter& out) {
  put_half(out.scales(block) + 32, row, static_cast<uint16_t>(m ^ 0x8000));
}

// Puts one row of a file's block (or superblock) into a chunk; `block` is the first block that it
// covers.
void put(const BlockQ8_0& b, size_t block, size_t row, const ChunkWriter& out) {
  std::array<uint8_t, 32> q;
  for (size_t i = 0; i < 32; ++i) q[i] = static_cast<uint8_t>(b.q[i]) ^ 0x80;
  for (size_t g = 0; g < 8; ++g) out.put_group(block, g, row, q.data() + 4 * g);
  put_half(out.scales(block), row, b.d);
}
void put(const BlockQ4_0& b, size_t block, size_t row, const ChunkWriter& out) {
  put_simple(b, block, row, out);
}
void put(const BlockQ4_1& b, size_t block, size_t row, const ChunkWriter& out) {
  put_simple(b, block, row, out);
  put_minimum(b.m, block, row, out);
}
void put(const BlockQ5_0& b, size_t block, size_t row, const ChunkWriter& out) {
  put_simple(b, block, row, out);
  put_fifth_bits(out, block, row, load_le32(b.high));
}
void put(const BlockQ5_1& b, size_t block, size_t row, const ChunkWriter& out) {
  put_simple(b, block, row, out);
  put_fifth_bits(out, block, row, load_le32(b.high));
  put_minimum(b.m, block, row, out);
}

// Nibbles and scales of a Q4_K or Q5_K superblock.
template <typename Block>
void put_super(const Block& b, size_t row, const ChunkWriter& out) {
  const SuperScales scales = unpack_scales(b.scales);
  put_half(out.chunk, row, b.d);
  put_half(out.chunk + 32, row, b.dmin);
  for (size_t j = 0; j < kBlocksPerChunk; ++j) {
    const uint8_t* source = b.q + j / 2 * 32;
    std::array<uint8_t, 16> nibbles;
    for (size_t i = 0; i < 16; ++i) {
      nibbles[i] = j % 2 == 0 ? static_cast<uint8_t>((source[i] & 15) | (source[i + 16] & 15) << 4)
                              : static_cast<uint8_t>(source[i] >> 4 | (source[i + 16] & 0xf0));
    }
    out.put_nibbles(j, row, nibbles);
    out.scales(j)[row] = scales.scale[j];
    out.scales(j)[16 + row] = scales.minimum[j];
  }
}
void put(const BlockQ4_K& b, size_t, size_t row, const ChunkWriter& out) { put_super(b, row, out); }
void put(const BlockQ5_K& b, size_t, size_t row, const ChunkWriter& out) {
  put_super(b, row, out);
  for (size_t j = 0; j < kBlocksPerChunk; ++j) {
    uint32_t plane = 0;  // four bytes at once: bit g of each is bit j of byte 4g.. of high
    for (size_t g = 0; g < 8; ++g) plane |= (load_word(b.high + 4 * g) >> j & 0x01010101) << g;
    std::memcpy(out.plane(j, row), &plane, sizeof(plane));
  }
}
// Quants of a Q6_K superblock four bytes at a time. Block j is quarter j % 4 of half j / 4: the
// spec's bit layout.
void put(const BlockQ6_K& b, size_t, size_t row, const ChunkWriter& out) {
  put_half(out.chunk, row, b.d);
  for (size_t j = 0; j < kBlocksPerChunk; ++j) {
    const size_t quarter = j % 4;
    const uint8_t* low = b.low + j / 4 * 64 + quarter % 2 * 32;
    const uint8_t* high = b.high + j / 4 * 32;
    const size_t shift = quarter / 2 * 4;
    for (size_t g = 0; g < 4; ++g) {
      const uint32_t first = load_word(low + 4 * g) >> shift & 0x0f0f0f0f;
      const uint32_t second = load_word(low + 16 + 4 * g) >> shift & 0x0f0f0f0f;
      const uint32_t nibbles = first | second << 4;
      out.put_group(j, g, row, &nibbles);
    }
    for (size_t half = 0; half < 2; ++half) {
      uint32_t plane = 0;
      for (size_t g = 0; g < 4; ++g) {
        plane |= (load_word(high + 16 * half + 4 * g) >> (2 * quarter) & 0x03030303) << (2 * g);
      }
      std::memcpy(out.plane(j, row) + 64 * half, &plane, sizeof(plane));
      out.scales(j)[16 * half + row] = static_cast<uint8_t>(b.scales[2 * j + half]);
    }
  }
}

template <typename Block, size_t kValues>
void pack_quantized(const PanelFormat& format, const std::byte* source, size_t rows, size_t cols,
                    std::byte* out) {
  const size_t blocks = cols / kBlockValues;
  const size_t stride = cols / kValues * sizeof(Block);
  auto* chunk = reinterpret_cast<uint8_t*>(out);
  for (size_t first = 0; first < blocks; first += kBlocksPerChunk) {
    const ChunkWriter writer = {chunk, format};
    const size_t chunk_blocks = std::min(kBlocksPerChunk, blocks - first);
    const size_t chunk_bytes = panel_chunk_bytes(format, chunk_blocks);
    if (rows < kPanelRows || chunk_blocks % 2 != 0) std::memset(chunk, 0, chunk_bytes);
    std::memset(chunk, 0, panel_header_bytes(format));  // which not every type fills
    for (size_t row = 0; row < rows; ++row) {
      for (size_t b = 0; b < chunk_blocks; b += kValues / kBlockValues) {
        Block block;
        std::memcpy(&block,
                    source + row * stride + (first + b) * kBlockValues / kValues * sizeof(Block),
                    sizeof(Block));
        put(block, b, row, writer);
      }
    }
    chunk += chunk_bytes;
  }
}

// Plain types: [column][row], in squares small enough for the first cache level.
template <typename T>
void pack_plain(const std::byte* source, size_t rows, size_t cols, std::byte* out) {
  constexpr size_t kSquare = 32;
  std::memset(out, 0, packed_panel_bytes(sizeof(T) == 4 ? DType::kF32 : DType::kF16, cols));
  for (size_t first = 0; first < cols; first += kSquare) {
    const size_t end = std::min(cols, first + kSquare);
    for (size_t row = 0; row < rows; ++row) {
      const std::byte* from = source + row * cols * sizeof(T);
      for (size_t k = first; k < end; ++k) {
        std::memcpy(out + (k * kPanelRows + row) * sizeof(T), from + k * sizeof(T), sizeof(T));
      }
    }
  }
}

// The panel format of a quantized type; nullptr for other types.
const PanelFormat* format_of(DType type) {
  switch (type) {
    case DType::kQ8_0:
      return &kPanelQ8_0;
    case DType::kQ4_0:
      return &kPanelQ4_0;
    case DType::kQ4_1:
      return &kPanelQ4_1;
    case DType::kQ5_0:
      return &kPanelQ5_0;
    case DType::kQ5_1:
      return &kPanelQ5_1;
    case DType::kQ4_K:
      return &kPanelQ4_K;
    case DType::kQ5_K:
      return &kPanelQ5_K;
    case DType::kQ6_K:
      return &kPanelQ6_K;
    default:
      return nullptr;
  }
}

// Reads from a chunk of a panel.
struct ChunkReader {
  const uint8_t* chunk;
  const PanelFormat& format;
  size_t blocks;

  [[nodiscard]] int quant(size_t block, size_t row, size_t k) const {
    const size_t byte = row * 4 + k % 4;
    const size_t group = k / 4;
    const uint8_t* quants = chunk + panel_quants_offset(format, block);
    if (format.quant_bytes == 512) return quants[group * 64 + byte] - format.zero_point;
    int q = quants[group % 4 * 64 + byte] >> (group < 4 ? 0 : 4) & 15;
    const uint8_t* plane = chunk + panel_plane_offset(format, block);
    if (format.plane_bytes == 64) q |= (plane[byte] >> group & 1) << 4;
    if (format.plane_bytes == 128) q |= (plane[group / 4 * 64 + byte] >> (group % 4 * 2) & 3) << 4;
    return q - format.zero_point;
  }
  [[nodiscard]] const uint8_t* scales(size_t block) const {
    return chunk + panel_scales_offset(format, block);
  }
  // A row's entry in a line of half-precision numbers.
  [[nodiscard]] static float half(const uint8_t* line, size_t row) {
    uint16_t bits = 0;
    std::memcpy(&bits, line + row * 2, 2);
    return half_to_float(bits);
  }
  // The scale of the half-block that holds column k of the block.
  [[nodiscard]] float scale(size_t block, size_t row, size_t k) const {
    if (format.scales == PanelScales::kSuper) {
      return half(chunk, row) * static_cast<float>(scales(block)[row]);
    }
    if (format.scales == PanelScales::kSuperHalves) {
      const uint8_t scale = scales(block)[k / 16 * 16 + row];
      return half(chunk, row) * static_cast<float>(static_cast<int8_t>(scale));
    }
    return half(scales(block), row);
  }
  [[nodiscard]] float minimum(size_t block, size_t row) const {
    if (format.scales == PanelScales::kHalfMin) return half(scales(block) + 32, row);
    return half(chunk + 32, row) * static_cast<float>(scales(block)[16 + row]);
  }
  [[nodiscard]] bool has_minimum() const {
    return format.scales == PanelScales::kHalfMin || format.scales == PanelScales::kSuper;
  }
};

// Half a block at a time, which has one scale.
void dequantize_chunk_row(const ChunkReader& chunk, size_t row, float* out) {
  constexpr size_t kHalf = kBlockValues / 2;
  for (size_t i = 0; i < chunk.blocks * kBlockValues; i += kHalf) {
    const size_t block = i / kBlockValues;
    const size_t first = i % kBlockValues;
    const float scale = chunk.scale(block, row, first);
    for (size_t k = 0; k < kHalf; ++k)
      out[i + k] = scale * static_cast<float>(chunk.quant(block, row, first + k));
    if (!chunk.has_minimum()) continue;
    const float minimum = chunk.minimum(block, row);
    for (size_t k = 0; k < kHalf; ++k) out[i + k] = out[i + k] - minimum;
  }
}

}  // namespace

bool can_pack(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 ||
         format_of(type) != nullptr;
}

size_t packed_panel_bytes(DType type, size_t cols) {
  const PanelFormat* format = format_of(type);
  if (format == nullptr) return (row_bytes(type, cols) * kPanelRows + 63) / 64 * 64;
  const size_t blocks = cols / kBlockValues;
  const size_t rest = blocks % kBlocksPerChunk;
  return blocks / kBlocksPerChunk * panel_chunk_bytes(*format, kBlocksPerChunk) +
         (rest > 0 ? panel_chunk_bytes(*format, rest) : 0);
}

void pack_panel(DType type, const std::byte* source, size_t rows, size_t cols, std::byte* out) {
  switch (type) {
    case DType::kF32:
      return pack_plain<uint32_t>(source, rows, cols, out);
    case DType::kF16:
    case DType::kBF16:
      return pack_plain<uint16_t>(source, rows, cols, out);
    case DType::kQ8_0:
      return pack_quantized<BlockQ8_0, 32>(kPanelQ8_0, source, rows, cols, out);
    case DType::kQ4_0:
      return pack_quantized<BlockQ4_0, 32>(kPanelQ4_0, source, rows, cols, out);
    case DType::kQ4_1:
      return pack_quantized<BlockQ4_1, 32>(kPanelQ4_1, source, rows, cols, out);
    case DType::kQ5_0:
      return pack_quantized<BlockQ5_0, 32>(kPanelQ5_0, source, rows, cols, out);
    case DType::kQ5_1:
      return pack_quantized<BlockQ5_1, 32>(kPanelQ5_1, source, rows, cols, out);
    case DType::kQ4_K:
      return pack_quantized<BlockQ4_K, 256>(kPanelQ4_K, source, rows, cols, out);
    case DType::kQ5_K:
      return pack_quantized<BlockQ5_K, 256>(kPanelQ5_K, source, rows, cols, out);
    case DType::kQ6_K:
      return pack_quantized<BlockQ6_K, 256>(kPanelQ6_K, source, rows, cols, out);
    default:
      panic(__FILE__, __LINE__, "pack_panel: not a type of weights");
  }
}

void dequantize_panel_row(DType type, const std::byte* panel, size_t row, std::span<float> out) {
  const PanelFormat* format = format_of(type);
  if (format == nullptr) {
    const size_t width = dtype_info(type).block_bytes;
    for (size_t k = 0; k < out.size(); ++k) {
      dequantize_row(type, panel + (k * kPanelRows + row) * width, out.subspan(k, 1));
    }
    return;
  }
  const size_t blocks = out.size() / kBlockValues;
  const auto* chunk = reinterpret_cast<const uint8_t*>(panel);
  for (size_t first = 0; first < blocks; first += kBlocksPerChunk) {
    const ChunkReader reader = {chunk, *format, std::min(kBlocksPerChunk, blocks - first)};
    dequantize_chunk_row(reader, row, out.data() + first * kBlockValues);
    chunk += panel_chunk_bytes(*format, reader.blocks);
  }
}

}  // namespace rill::quant
