// SPDX-License-Identifier: Apache-2.0
#include "audio/pcm.h"

#include <cmath>

#include "base/check.h"
#include "base/str_cat.h"

namespace rill::audio {

Status check_audio_format(const AudioFormat& format, std::string_view where) {
  if (format.channels < 1 || format.channels > kMaxChannels) {
    return Error{ErrorCode::kInvalidFormat,
                 cat(where, ": got ", format.channels, " channels, expected 1 to ", kMaxChannels)};
  }
  if (format.sample_rate_hz < kMinSampleRateHz || format.sample_rate_hz > kMaxSampleRateHz) {
    return Error{ErrorCode::kInvalidFormat,
                 cat(where, ": got a sample rate of ", format.sample_rate_hz, " Hz, expected ",
                     kMinSampleRateHz, " to ", kMaxSampleRateHz)};
  }
  return {};
}

Status check_samples(std::span<const float> samples, int64_t first_sample) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const float sample = samples[i];
    if (sample >= -kMaxMagnitude && sample <= kMaxMagnitude) continue;
    const std::string what = std::isnan(sample)   ? "NaN"
                             : std::isinf(sample) ? "an infinity"
                                                  : cat(sample);
    return Error{ErrorCode::kInvalidFormat,
                 cat("audio: sample ", first_sample + static_cast<int64_t>(i), ": got ", what,
                     ", expected a number from -1 to 1")};
  }
  return {};
}

Result<size_t> AudioReader::read(std::span<float> interleaved) {
  RILL_CHECK(interleaved.size() >= channels(), "AudioReader::read needs room for a frame");
  RILL_ASSIGN_OR_RETURN(const size_t frames, read_frames(interleaved));
  const size_t count = frames * channels();
  RILL_RETURN_IF_ERROR(check_samples(interleaved.first(count), samples_read_));
  samples_read_ += static_cast<int64_t>(count);
  return frames;
}

}  // namespace rill::audio
