// SPDX-License-Identifier: Apache-2.0
// Makes sound files of speech: WAV by rill itself, the compressed kinds through libsndfile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::codec {

enum class SoundFileFormat {
  kWav,     ///< 16-bit
  kFlac,    ///< 16-bit, the samples of kWav
  kOpus,    ///< in Ogg; rates of 8, 12, 16, 24 and 48 kHz
  kVorbis,  ///< in Ogg
};

/// "wav", "flac", "opus" and "ogg" (Vorbis), also the extensions of such files; nothing for another
/// name.
[[nodiscard]] std::optional<SoundFileFormat> sound_file_format_by_name(std::string_view name);

/// For messages: the names that sound_file_format_by_name knows.
inline constexpr std::string_view kSoundFileFormats = "wav, flac, opus or ogg";

/// A whole file of mono samples, which are clamped to [-1, 1]. Ogg files have a stream number of
/// their own each time; WAV and FLAC files of equal samples are equal.
/// Errors: kUnsupported (a format that is not built in, a rate that the codec does not take),
///         kInvalidArgument (no samples for a compressed format).
Result<std::vector<std::byte>> encode_sound_file(SoundFileFormat format, uint32_t sample_rate_hz,
                                                 std::span<const float> samples);

}  // namespace rill::codec
