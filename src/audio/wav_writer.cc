// SPDX-License-Identifier: Apache-2.0
#include "audio/wav_writer.h"

#include <cstring>
#include <string_view>

#include "audio/pcm.h"
#include "base/check.h"

namespace rill::audio {
namespace {

constexpr uint32_t kUnknownSize = 0xFFFFFFFFu;

void append_id(std::string_view id, std::vector<std::byte>& out) {
  for (const char c : id) out.push_back(static_cast<std::byte>(c));
}

void append_little(uint32_t value, int bytes, std::vector<std::byte>& out) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

uint32_t bytes_of(WavSampleType type) { return type == WavSampleType::kInt16 ? 2 : 4; }

}  // namespace

std::vector<std::byte> wav_header(WavSampleType type, uint32_t sample_rate_hz, uint32_t channels,
                                  std::optional<uint64_t> num_frames) {
  RILL_CHECK(channels >= 1 && channels <= kMaxChannels && sample_rate_hz <= kMaxSampleRateHz,
             "wav_header: channels or rate out of bounds");
  const bool is_float = type == WavSampleType::kFloat32;
  const uint32_t frame_bytes = channels * bytes_of(type);
  const uint32_t fmt_bytes = is_float ? 18 : 16;
  const uint32_t header_bytes = 12 + 8 + fmt_bytes + (is_float ? 12 : 0) + 8;
  const bool known = num_frames && *num_frames <= (kUnknownSize - 256 - header_bytes) / frame_bytes;
  const uint32_t frames = known ? static_cast<uint32_t>(*num_frames) : kUnknownSize;
  const uint32_t data_bytes = known ? frames * frame_bytes : kUnknownSize;
  std::vector<std::byte> out;
  append_id("RIFF", out);
  append_little(known ? header_bytes - 8 + data_bytes : kUnknownSize, 4, out);
  append_id("WAVEfmt ", out);
  append_little(fmt_bytes, 4, out);
  append_little(is_float ? 3 : 1, 2, out);
  append_little(channels, 2, out);
  append_little(sample_rate_hz, 4, out);
  append_little(sample_rate_hz * frame_bytes, 4, out);
  append_little(frame_bytes, 2, out);
  append_little(8 * bytes_of(type), 2, out);
  if (is_float) {
    append_little(0, 2, out);  // no extension
    append_id("fact", out);
    append_little(4, 4, out);
    append_little(frames, 4, out);
  }
  append_id("data", out);
  append_little(data_bytes, 4, out);
  return out;
}

int16_t to_int16(float sample) {
  if (!(sample > -1.0f)) return sample <= -1.0f ? -32767 : 0;  // 0 for NaN
  const double scaled = static_cast<double>(sample < 1.0f ? sample : 1.0f) * 32767.0;
  return static_cast<int16_t>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

void append_wav_samples(WavSampleType type, std::span<const float> samples,
                        std::vector<std::byte>& out) {
  for (const float sample : samples) {
    if (type == WavSampleType::kInt16) {
      append_little(static_cast<uint16_t>(to_int16(sample)), 2, out);
    } else {
      uint32_t bits;
      std::memcpy(&bits, &sample, sizeof bits);
      append_little(bits, 4, out);
    }
  }
}

std::vector<std::byte> encode_wav(WavSampleType type, uint32_t sample_rate_hz, uint32_t channels,
                                  std::span<const float> samples) {
  std::vector<std::byte> out =
      wav_header(type, sample_rate_hz, channels, samples.size() / channels);
  append_wav_samples(type, samples, out);
  return out;
}

}  // namespace rill::audio
