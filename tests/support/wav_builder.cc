// SPDX-License-Identifier: Apache-2.0
#include "support/wav_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace rill::test {
namespace {

void put(uint64_t value, int count, bool big_endian, Bytes& out) {
  for (int i = 0; i < count; ++i) {
    const int shift = 8 * (big_endian ? count - 1 - i : i);
    out.push_back(static_cast<std::byte>(value >> shift));
  }
}

uint8_t code_of(size_t i) { return static_cast<uint8_t>(i * 37 + 11); }

// Sample i as an integer of `bits` bits: both extremes, zero, and values between.
int64_t integer_of(size_t i, int bits) {
  const uint64_t top = uint64_t{1} << (bits - 1);
  switch (i % 5) {
    case 0:
      return static_cast<int64_t>(~(top - 1));
    case 1:
      return static_cast<int64_t>(top - 1);
    case 2:
      return 0;
    case 3:
      return -1;
    default:
      return static_cast<int64_t>((top - 1) / 3 + i % 64);
  }
}

double float_of(size_t i) {
  return (static_cast<double>(i % 64) - 31.0) / 16.0;
}  // beyond +/-1 too

}  // namespace

int a_law_value(uint8_t code) {
  const int even = code ^ 0x55;
  const int segment = (even >> 4) & 7;
  const int step = even & 15;
  const int magnitude = segment == 0 ? (2 * step + 1) * 8 : (2 * step + 33) << (segment + 2);
  return even >= 128 ? magnitude : -magnitude;
}

int mu_law_value(uint8_t code) {
  const int inverted = 255 - code;
  const int segment = (inverted >> 4) & 7;
  const int magnitude = 4 * (((2 * (inverted & 15) + 33) << segment) - 33);
  return inverted >= 128 ? -magnitude : magnitude;
}

Bytes bytes_of(std::string_view text) {
  Bytes out;
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
  return out;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes WavFmt::payload() const {
  Bytes out;
  const uint32_t frame_bytes = static_cast<uint32_t>(channels) * container_bits / 8;
  put(extensible ? 0xFFFE : tag, 2, big_endian, out);
  put(channels, 2, big_endian, out);
  put(rate, 4, big_endian, out);
  put(static_cast<uint64_t>(rate) * frame_bytes, 4, big_endian, out);
  put(block_align.value_or(static_cast<uint16_t>(frame_bytes)), 2, big_endian, out);
  put(extensible ? container_bits : bits, 2, big_endian, out);
  if (extensible) {
    put(22, 2, big_endian, out);
    put(bits, 2, big_endian, out);
    put(0, 4, big_endian, out);
    put(tag, 4, big_endian, out);
    put(0, 2, big_endian, out);
    put(0x10, 2, big_endian, out);
    for (const int b : {0x80, 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71})
      put(static_cast<uint64_t>(b), 1, false, out);
  }
  if (size) out.resize(*size);
  return out;
}

double wav_test_value(const WavFmt& fmt, size_t i) {
  if (fmt.tag == 6) return a_law_value(code_of(i)) / 32768.0;
  if (fmt.tag == 7) return mu_law_value(code_of(i)) / 32768.0;
  if (fmt.tag == 3) return float_of(i);
  return std::ldexp(static_cast<double>(integer_of(i, fmt.bits)), 1 - fmt.bits);
}

Bytes wav_test_samples(const WavFmt& fmt, size_t count) {
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    if (fmt.tag == 6 || fmt.tag == 7) {
      put(code_of(i), 1, false, out);
    } else if (fmt.tag == 3 && fmt.container_bits == 32) {
      const float value = static_cast<float>(float_of(i));
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      put(bits, 4, fmt.big_endian, out);
    } else if (fmt.tag == 3) {
      const double value = float_of(i);
      uint64_t bits;
      std::memcpy(&bits, &value, 8);
      put(bits, 8, fmt.big_endian, out);
    } else {
      // Left-justified in the container; 8-bit samples are unsigned.
      uint64_t value = static_cast<uint64_t>(integer_of(i, fmt.bits))
                       << (fmt.container_bits - fmt.bits);
      if (fmt.container_bits == 8) value += 128;
      put(value, fmt.container_bits / 8, fmt.big_endian, out);
    }
  }
  return out;
}

WavBuilder& WavBuilder::chunk(std::string_view id, const Bytes& payload,
                              std::optional<uint32_t> declared, bool pad) {
  chunks_ = chunks_ + bytes_of(id);
  put(declared.value_or(static_cast<uint32_t>(payload.size())), 4, big_endian, chunks_);
  chunks_ = chunks_ + payload;
  if (pad && payload.size() % 2 != 0) chunks_.push_back(std::byte{0});
  return *this;
}

Bytes WavBuilder::build() const {
  Bytes out = bytes_of(magic);
  put(riff_size.value_or(static_cast<uint32_t>(chunks_.size() + 4)), 4, big_endian, out);
  return out + bytes_of(form) + chunks_;
}

Bytes build_wave64(const std::vector<std::pair<std::string, Bytes>>& chunks) {
  const Bytes tail =
      bytes_of(std::string_view("\xF3\xAC\xD3\x11\x8C\xD1\x00\xC0\x4F\x8E\xDB\x8A", 12));
  Bytes body = bytes_of("wave") + tail;
  for (const auto& [id, payload] : chunks) {
    body = body + bytes_of(id) + tail;
    put(payload.size() + 24, 8, false, body);
    body = body + payload;
    body.resize((body.size() + 7) / 8 * 8);
  }
  Bytes out = bytes_of("riff") +
              bytes_of(std::string_view("\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00", 12));
  put(body.size() + 24, 8, false, out);
  return out + body;
}

}  // namespace rill::test
