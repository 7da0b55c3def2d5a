// SPDX-License-Identifier: Apache-2.0
#include "audio/vad_segments.h"

#include <algorithm>
#include <optional>

namespace rill::audio {
namespace {

std::vector<SampleRange> unpadded_segments(std::span<const float> probabilities,
                                           int64_t num_samples,
                                           const SpeechSegmentOptions& options) {
  std::vector<SampleRange> segments;
  std::optional<int64_t> start;        // of the open segment
  std::optional<int64_t> pending_end;  // where it ends if the pause lasts
  auto close = [&](int64_t end) {
    if (end - *start > options.min_speech) segments.push_back({*start, end});
    start.reset();
    pending_end.reset();
  };
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const int64_t sample = static_cast<int64_t>(i) * options.block;
    if (probabilities[i] >= options.threshold) {
      pending_end.reset();
      if (!start) start = sample;
    } else if (start && probabilities[i] < options.release) {
      if (!pending_end) pending_end = sample;
      if (sample - *pending_end >= options.min_silence) close(*pending_end);
    }
  }
  if (start) close(num_samples);
  return segments;
}

}  // namespace

std::vector<SampleRange> find_speech(std::span<const float> probabilities, int64_t num_samples,
                                     const SpeechSegmentOptions& options) {
  std::vector<SampleRange> segments = unpadded_segments(probabilities, num_samples, options);
  for (size_t i = 0; i < segments.size(); ++i) {
    if (i == 0) segments[i].begin = std::max<int64_t>(0, segments[i].begin - options.padding);
    if (i + 1 == segments.size()) {
      segments[i].end = std::min(num_samples, segments[i].end + options.padding);
      break;
    }
    const int64_t gap = segments[i + 1].begin - segments[i].end;
    const int64_t padding = gap < 2 * options.padding ? gap / 2 : options.padding;
    segments[i].end += padding;
    segments[i + 1].begin -= padding;
  }
  return segments;
}

}  // namespace rill::audio
