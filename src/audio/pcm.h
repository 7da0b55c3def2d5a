// SPDX-License-Identifier: Apache-2.0
// AudioReader: decoded audio as interleaved float samples, pulled piece by piece. Readers for WAV
// are in wav.h, for everything else in codec/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace rill::audio {

inline constexpr uint32_t kMinSampleRateHz = 1000;
inline constexpr uint32_t kMaxSampleRateHz = 768000;
inline constexpr uint32_t kMaxChannels = 64;
inline constexpr float kMaxMagnitude = 1e12f;

/// What an audio stream is made of.
struct AudioFormat {
  uint32_t sample_rate_hz = 0;          ///< kMinSampleRateHz to kMaxSampleRateHz
  uint32_t channels = 0;                ///< 1 to kMaxChannels
  std::string container;                ///< "WAV", "RF64", "FLAC", "Ogg", ...
  std::string codec;                    ///< "16-bit PCM", "Vorbis", ...
  std::optional<int64_t> total_frames;  ///< where it is known before reading
};

/// Checks rate and channel count against the bounds above.
/// Errors: kInvalidFormat, naming the value and `where` it came from.
Status check_audio_format(const AudioFormat& format, std::string_view where);

/// Checks that every sample is a number of sane size. Samples beyond +/-1 are fine up to
/// kMaxMagnitude, which keeps every later stage finite. `first_sample` is the position of
/// samples[0] in its stream, for the message. Errors: kInvalidFormat, naming the position of the
/// first NaN, infinity or senseless value.
Status check_samples(std::span<const float> samples, int64_t first_sample);

/// A source of decoded audio. A frame is one sample per channel.
class AudioReader {
 public:
  virtual ~AudioReader() = default;

  [[nodiscard]] const AudioFormat& format() const { return format_; }
  [[nodiscard]] uint32_t sample_rate_hz() const { return format_.sample_rate_hz; }
  [[nodiscard]] uint32_t channels() const { return format_.channels; }

  /// Reads up to interleaved.size() / channels() frames to the front of `interleaved`; returns the
  /// number of frames, 0 at the end. Fewer frames than asked for do not mean the end. `interleaved`
  /// must hold at least one frame. Units: samples in [-1, 1], float formats may go beyond. Errors:
  /// kIo, kInvalidFormat (damaged stream; check_samples).
  Result<size_t> read(std::span<float> interleaved);

 protected:
  explicit AudioReader(AudioFormat format) : format_(std::move(format)) {}
  /// read() without the check of the values.
  virtual Result<size_t> read_frames(std::span<float> interleaved) = 0;

 private:
  AudioFormat format_;
  int64_t samples_read_ = 0;
};

}  // namespace rill::audio
