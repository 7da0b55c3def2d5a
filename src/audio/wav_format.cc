// SPDX-License-Identifier: Apache-2.0
#include "audio/wav_format.h"

#include <array>
#include <cstring>
#include <string_view>

#include "audio/pcm.h"
#include "base/check.h"
#include "base/str_cat.h"

namespace rill::audio {
namespace {

constexpr uint32_t kTagPcm = 1;
constexpr uint32_t kTagFloat = 3;
constexpr uint32_t kTagALaw = 6;
constexpr uint32_t kTagMuLaw = 7;
constexpr uint32_t kTagExtensible = 0xFFFE;
// Bytes 4 to 15 of KSDATAFORMAT_SUBTYPE_*: the first four are the codec number.
constexpr uint8_t kSubFormatTail[12] = {0x00, 0x00, 0x10, 0x00, 0x80, 0x00,
                                        0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71};

Error invalid(const std::string& what) {
  return {ErrorCode::kInvalidFormat, "wav: fmt chunk: " + what};
}

std::string hex(uint32_t value, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(value >> shift) & 15];
  return out;
}

std::string_view codec_of_tag(uint32_t tag) {
  switch (tag) {
    case 0x0002:
      return " (Microsoft ADPCM)";
    case 0x0011:
      return " (IMA ADPCM)";
    case 0x0031:
      return " (GSM 6.10)";
    case 0x0045:
      return " (G.726 ADPCM)";
    case 0x0050:
      return " (MPEG)";
    case 0x0055:
      return " (MP3)";
    case 0x00FF:
      return " (AAC)";
    case 0x0161:
      return " (Windows Media Audio)";
    case 0x2000:
      return " (AC-3)";
    case 0xF1AC:
      return " (FLAC)";
    default:
      return "";
  }
}

Error unsupported_codec(uint32_t tag) {
  return {ErrorCode::kUnsupported, cat("wav: unsupported codec 0x", hex(tag, 4), codec_of_tag(tag),
                                       ", expected PCM, float, A-law or mu-law")};
}

// The fields as they are stored.
struct Fields {
  uint32_t tag;
  uint32_t channels;
  uint32_t sample_rate_hz;
  uint32_t block_align;
  uint32_t bits;        // of the container for EXTENSIBLE, else of the samples
  uint32_t valid_bits;  // of the samples
};

Result<uint32_t> extensible_tag(std::span<const std::byte> chunk, ByteOrder order) {
  if (chunk.size() < 40) {
    return invalid(
        cat("got ", chunk.size(), " bytes, expected at least 40 for WAVE_FORMAT_EXTENSIBLE"));
  }
  const std::byte* guid = chunk.data() + 24;
  std::array<uint8_t, 12> tail;
  // The GUID's first three parts are numbers in the file's byte order.
  for (size_t i = 0; i < 12; ++i) tail[i] = std::to_integer<uint8_t>(guid[4 + i]);
  if (order == ByteOrder::kBig) {
    std::swap(tail[0], tail[1]);
    std::swap(tail[2], tail[3]);
  }
  const uint32_t tag = load_integer<uint32_t>(guid, order);
  if (std::memcmp(tail.data(), kSubFormatTail, sizeof kSubFormatTail) != 0 || tag > 0xFFFF) {
    std::string text;
    for (size_t i = 0; i < 16; ++i) text += hex(std::to_integer<uint8_t>(guid[i]), 2);
    return Error{ErrorCode::kUnsupported, cat("wav: unsupported sub-format GUID ", text)};
  }
  return tag;
}

Result<Fields> read_fields(std::span<const std::byte> chunk, ByteOrder order) {
  if (chunk.size() < 16) return invalid(cat("got ", chunk.size(), " bytes, expected at least 16"));
  const std::byte* p = chunk.data();
  Fields f = {};
  f.tag = load_integer<uint16_t>(p, order);
  f.channels = load_integer<uint16_t>(p + 2, order);
  f.sample_rate_hz = load_integer<uint32_t>(p + 4, order);
  f.block_align = load_integer<uint16_t>(p + 12, order);
  f.bits = load_integer<uint16_t>(p + 14, order);
  f.valid_bits = f.bits;
  if (f.tag != kTagExtensible) return f;
  RILL_ASSIGN_OR_RETURN(f.tag, extensible_tag(chunk, order));
  const uint32_t valid_bits = load_integer<uint16_t>(p + 18, order);
  if (f.bits % 8 != 0 || valid_bits > f.bits) {
    return invalid(cat("got ", valid_bits, " valid bits in a container of ", f.bits, " bits"));
  }
  if (valid_bits != 0) f.valid_bits = valid_bits;
  return f;
}

// Whether samples of `bits` bits may be stored in `container` bytes: the smallest whole number of
// bytes, and the wider forms that recorders write for 17 to 24 bits.
bool container_fits(uint32_t bits, uint32_t container) {
  if (container == (bits + 7) / 8) return true;
  return bits > 16 && bits <= 24 && container == 4;
}

Result<WavEncoding> pcm_encoding(uint32_t container) {
  switch (container) {
    case 1:
      return WavEncoding::kU8;
    case 2:
      return WavEncoding::kS16;
    case 3:
      return WavEncoding::kS24;
    case 4:
      return WavEncoding::kS32;
    case 8:
      return WavEncoding::kS64;
    default:
      return invalid(cat("got ", container, " bytes per PCM sample, expected 1, 2, 3, 4 or 8"));
  }
}

Result<WavEncoding> encoding_of(const Fields& f, uint32_t container) {
  switch (f.tag) {
    case kTagPcm:
      return pcm_encoding(container);
    case kTagFloat:
      if (container == 4) return WavEncoding::kF32;
      if (container == 8) return WavEncoding::kF64;
      return invalid(cat("got floats of ", f.bits, " bits, expected 32 or 64"));
    case kTagALaw:
    case kTagMuLaw:
      if (container != 1)
        return invalid(cat("got ", f.bits, " bits, expected 8 for A-law and mu-law"));
      return f.tag == kTagALaw ? WavEncoding::kALaw : WavEncoding::kMuLaw;
    default:
      return unsupported_codec(f.tag);
  }
}

// ITU-T G.711, to the 16-bit scale.
int a_law_to_linear(uint8_t code) {
  code ^= 0x55;
  const int exponent = (code >> 4) & 7;
  int magnitude = ((code & 15) << 4) + 8;
  if (exponent > 0) magnitude = (magnitude + 256) << (exponent - 1);
  return (code & 0x80) != 0 ? magnitude : -magnitude;
}

int mu_law_to_linear(uint8_t code) {
  code = static_cast<uint8_t>(~code);
  const int magnitude = ((((code & 15) << 3) + 132) << ((code >> 4) & 7)) - 132;
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

template <typename To, typename From>
To same_bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

float decode_sample(WavEncoding encoding, ByteOrder order, const std::byte* p) {
  switch (encoding) {
    case WavEncoding::kU8:
      return static_cast<float>(std::to_integer<int>(*p) - 128) * 0x1p-7f;
    case WavEncoding::kS16: {
      return static_cast<float>(static_cast<int16_t>(load_integer<uint16_t>(p, order))) * 0x1p-15f;
    }
    case WavEncoding::kS24: {
      const uint32_t bits = load_integer<uint32_t>(p, order, 3) << 8;
      return static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-31f;
    }
    case WavEncoding::kS32: {
      return static_cast<float>(static_cast<int32_t>(load_integer<uint32_t>(p, order))) * 0x1p-31f;
    }
    case WavEncoding::kS64: {
      return static_cast<float>(static_cast<int64_t>(load_integer<uint64_t>(p, order))) * 0x1p-63f;
    }
    case WavEncoding::kF32:
      return same_bits<float>(load_integer<uint32_t>(p, order));
    case WavEncoding::kF64:
      return static_cast<float>(same_bits<double>(load_integer<uint64_t>(p, order)));
    case WavEncoding::kALaw:
      return static_cast<float>(a_law_to_linear(std::to_integer<uint8_t>(*p))) * 0x1p-15f;
    case WavEncoding::kMuLaw:
      return static_cast<float>(mu_law_to_linear(std::to_integer<uint8_t>(*p))) * 0x1p-15f;
  }
  return 0.0f;
}

}  // namespace

std::string WavFormat::codec_name() const {
  switch (encoding) {
    case WavEncoding::kALaw:
      return "A-law";
    case WavEncoding::kMuLaw:
      return "mu-law";
    case WavEncoding::kF32:
      return "32-bit float";
    case WavEncoding::kF64:
      return "64-bit float";
    default:
      return cat(valid_bits, "-bit PCM");
  }
}

Result<WavFormat> parse_wav_format(std::span<const std::byte> chunk, ByteOrder order) {
  RILL_ASSIGN_OR_RETURN(const Fields f, read_fields(chunk, order));
  AudioFormat bounds;
  bounds.channels = f.channels;
  bounds.sample_rate_hz = f.sample_rate_hz;
  RILL_RETURN_IF_ERROR(check_audio_format(bounds, "wav: fmt chunk"));
  const bool known =
      f.tag == kTagPcm || f.tag == kTagFloat || f.tag == kTagALaw || f.tag == kTagMuLaw;
  if (!known) return unsupported_codec(f.tag);  // before the rest, whose meaning is the codec's own
  const uint32_t container = f.block_align / f.channels;
  if (f.bits == 0 || f.block_align % f.channels != 0 || !container_fits(f.bits, container)) {
    return invalid(cat("got a block of ", f.block_align, " bytes for ", f.channels, " channels of ",
                       f.bits, " bits"));
  }
  WavFormat format;
  RILL_ASSIGN_OR_RETURN(format.encoding, encoding_of(f, container));
  format.channels = f.channels;
  format.sample_rate_hz = f.sample_rate_hz;
  format.bytes_per_sample = container;
  format.valid_bits = f.valid_bits;
  return format;
}

void decode_wav_samples(const WavFormat& format, ByteOrder order, std::span<const std::byte> bytes,
                        std::span<float> samples) {
  RILL_CHECK(bytes.size() == samples.size() * format.bytes_per_sample,
             "decode_wav_samples: sizes disagree");
  const std::byte* p = bytes.data();
  for (float& sample : samples) {
    sample = decode_sample(format.encoding, order, p);
    p += format.bytes_per_sample;
  }
}

}  // namespace rill::audio
