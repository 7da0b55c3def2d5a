// SPDX-License-Identifier: Apache-2.0
#include "audio/mono.h"

#include <algorithm>

#include "base/check.h"
#include "base/str_cat.h"

namespace rill::audio {

void average_channels(std::span<const float> interleaved, size_t channels,
                      std::vector<float>& out) {
  RILL_CHECK(channels > 0 && interleaved.size() % channels == 0,
             "average_channels takes whole frames");
  if (channels == 1) {
    out.insert(out.end(), interleaved.begin(), interleaved.end());
    return;
  }
  const float count = static_cast<float>(channels);
  out.reserve(out.size() + interleaved.size() / channels);
  for (size_t i = 0; i < interleaved.size(); i += channels) {
    float sum = interleaved[i];
    for (size_t c = 1; c < channels; ++c) sum += interleaved[i + c];
    out.push_back(sum / count);
  }
}

Result<MonoStream> MonoStream::create(uint32_t sample_rate_hz, uint32_t channels,
                                      uint32_t target_rate_hz) {
  AudioFormat format;
  format.sample_rate_hz = sample_rate_hz;
  format.channels = channels;
  RILL_RETURN_IF_ERROR(check_audio_format(format, "audio"));
  RILL_ASSIGN_OR_RETURN(Resampler resampler, Resampler::create(sample_rate_hz, target_rate_hz));
  return MonoStream(channels, std::move(resampler));
}

Status MonoStream::push(std::span<const float> interleaved, std::vector<float>& out) {
  if (interleaved.size() % channels_ != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("audio: got ", interleaved.size(), " samples, expected whole frames of ",
                     channels_, " channels")};
  }
  RILL_RETURN_IF_ERROR(check_samples(interleaved, samples_taken_));
  samples_taken_ += static_cast<int64_t>(interleaved.size());
  mono_.clear();
  average_channels(interleaved, channels_, mono_);
  resampler_.push(mono_, out);
  return {};
}

void MonoStream::finish(std::vector<float>& out) { resampler_.finish(out); }

Result<std::vector<float>> read_mono(AudioReader& reader, uint32_t target_rate_hz,
                                     std::optional<int64_t> max_samples) {
  RILL_ASSIGN_OR_RETURN(MonoStream stream, MonoStream::create(reader.sample_rate_hz(),
                                                              reader.channels(), target_rate_hz));
  std::vector<float> piece(size_t{4096} * reader.channels());
  std::vector<float> mono;
  // A length that the container only claims must not allocate more than its bytes could hold: the
  // claim is trusted up to an hour, which later growth doubles.
  constexpr int64_t kTrustedSeconds = 3600;
  if (const auto total = reader.format().total_frames) {
    const double seconds = static_cast<double>(*total) / reader.sample_rate_hz();
    const double trusted = std::clamp(seconds, 0.0, static_cast<double>(kTrustedSeconds));
    mono.reserve(static_cast<size_t>(trusted * target_rate_hz) + target_rate_hz);
  }
  bool more = true;
  while (more) {
    RILL_ASSIGN_OR_RETURN(const size_t frames, reader.read(piece));
    more = frames > 0;
    if (more) {
      RILL_RETURN_IF_ERROR(stream.push(std::span(piece).first(frames * reader.channels()), mono));
    } else {
      stream.finish(mono);
    }
    if (max_samples && static_cast<int64_t>(mono.size()) > *max_samples) {
      return Error{ErrorCode::kContextFull, cat("audio: longer than ", *max_samples, " samples at ",
                                                target_rate_hz, " Hz, the most that is taken")};
    }
  }
  return mono;
}

}  // namespace rill::audio
