// SPDX-License-Identifier: Apache-2.0
// Writes WAV files: headers (also for streams whose length is not known yet) and sample conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rill::audio {

enum class WavSampleType { kInt16, kFloat32 };

/// The bytes before the samples: RIFF, fmt, (fact for floats,) data. Without num_frames, or if the
/// file would pass 4 GiB, the sizes are 0xFFFFFFFF, which readers take as "to the end". channels
/// and sample_rate_hz must be within the bounds of pcm.h.
[[nodiscard]] std::vector<std::byte> wav_header(WavSampleType type, uint32_t sample_rate_hz,
                                                uint32_t channels,
                                                std::optional<uint64_t> num_frames);

/// The 16-bit form of a sample: clamped to [-1, 1], times 32767, rounded half away from zero; NaN
/// gives 0.
[[nodiscard]] int16_t to_int16(float sample);

/// Appends samples as little-endian bytes.
void append_wav_samples(WavSampleType type, std::span<const float> samples,
                        std::vector<std::byte>& out);

/// A whole file. samples are interleaved.
[[nodiscard]] std::vector<std::byte> encode_wav(WavSampleType type, uint32_t sample_rate_hz,
                                                uint32_t channels, std::span<const float> samples);

}  // namespace rill::audio
