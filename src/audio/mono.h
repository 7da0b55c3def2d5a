// SPDX-License-Identifier: Apache-2.0
// From interleaved audio of any format to mono at one rate: channel average, then resampling, both
// streamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audio/pcm.h"
#include "audio/resample.h"
#include "base/result.h"

namespace rill::audio {

inline constexpr uint32_t kSpeechSampleRateHz = 16000;  ///< what the speech encoder hears

/// Appends the mean over the channels of each frame: the sum in channel order, divided by their
/// number. Shapes: interleaved [n_frames * channels] -> n_frames values appended to out.
void average_channels(std::span<const float> interleaved, size_t channels, std::vector<float>& out);

/// Averages, resamples and checks pushed audio. Any cut of the input gives the same bits.
class MonoStream {
 public:
  /// Errors: kInvalidFormat for a rate or channel count out of bounds; those of Resampler::create.
  static Result<MonoStream> create(uint32_t sample_rate_hz, uint32_t channels,
                                   uint32_t target_rate_hz = kSpeechSampleRateHz);

  /// Takes whole frames; appends the mono samples that are final to `out`.
  /// Errors: kInvalidArgument (a partial frame), kInvalidFormat (check_samples).
  Status push(std::span<const float> interleaved, std::vector<float>& out);
  /// Appends the rest. The stream takes nothing after it.
  void finish(std::vector<float>& out);

 private:
  MonoStream(uint32_t channels, Resampler resampler)
      : channels_(channels), resampler_(std::move(resampler)) {}

  uint32_t channels_;
  Resampler resampler_;
  int64_t samples_taken_ = 0;
  std::vector<float> mono_;
};

/// Reads a whole stream as mono at target_rate_hz.
/// Errors: the reader's; kContextFull naming the limit if more than max_samples come out (the
/// reading stops there).
Result<std::vector<float>> read_mono(AudioReader& reader,
                                     uint32_t target_rate_hz = kSpeechSampleRateHz,
                                     std::optional<int64_t> max_samples = std::nullopt);

}  // namespace rill::audio
