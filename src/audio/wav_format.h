// SPDX-License-Identifier: Apache-2.0
// The "fmt " chunk of WAV files: which samples a file holds, and how their bytes become floats.
// For wav.cc; no input or output happens here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace rill::audio {

/// Byte order of a container.
enum class ByteOrder { kLittle, kBig };

/// How one sample is stored.
enum class WavEncoding { kU8, kS16, kS24, kS32, kS64, kF32, kF64, kALaw, kMuLaw };

/// A checked "fmt " chunk.
struct WavFormat {
  WavEncoding encoding = WavEncoding::kS16;
  uint32_t channels = 0;
  uint32_t sample_rate_hz = 0;
  uint32_t bytes_per_sample = 0;
  uint32_t valid_bits = 0;

  [[nodiscard]] uint32_t bytes_per_frame() const { return channels * bytes_per_sample; }
  [[nodiscard]] std::string codec_name() const;  ///< "24-bit PCM", "A-law", ...
  friend bool operator==(const WavFormat&, const WavFormat&) = default;
};

/// Parses the payload of a "fmt " chunk (its first 40 bytes are enough).
/// PCM is read by its container: 12 bits in 16, 20 in 24 and 24 in 32 are left-justified, as the
/// format demands. Errors: kInvalidFormat, naming the field (contradictions included);
/// kUnsupported, naming the codec's number. Source: Microsoft, Multiple channel audio data and WAVE
/// files (2007); RFC 2361 for the codec numbers.
Result<WavFormat> parse_wav_format(std::span<const std::byte> chunk, ByteOrder order);

/// Turns whole samples into floats: integers divided by their full scale, floats as they are.
/// Shapes: bytes [n * bytes_per_sample] -> samples [n].
void decode_wav_samples(const WavFormat& format, ByteOrder order, std::span<const std::byte> bytes,
                        std::span<float> samples);

/// Reads an unsigned integer of N bytes.
template <typename T>
[[nodiscard]] T load_integer(const std::byte* bytes, ByteOrder order, size_t count = sizeof(T)) {
  T value = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = order == ByteOrder::kLittle ? count - 1 - i : i;
    value = static_cast<T>(static_cast<T>(value << 8) |
                           static_cast<T>(std::to_integer<uint8_t>(bytes[at])));
  }
  return value;
}

}  // namespace rill::audio
