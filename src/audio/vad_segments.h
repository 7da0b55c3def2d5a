// SPDX-License-Identifier: Apache-2.0
// From speech probabilities per block to stretches of speech. Pure functions; the network that
// gives the probabilities is a model (model/silero_vad).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/sample_range.h"

namespace rill::audio {

/// Rules for segments; the defaults are for 16 kHz blocks of 512 samples.
struct SpeechSegmentOptions {
  int64_t block = 512;         ///< samples that one probability stands for
  float threshold = 0.5f;      ///< speech starts at or above it
  float release = 0.35f;       ///< speech may end below it
  int64_t min_speech = 4000;   ///< only longer segments are kept
  int64_t min_silence = 1600;  ///< a pause ends speech when it has lasted this long
  int64_t padding = 480;       ///< added on both sides, or half the gap between neighbours
};

/// Finds the segments of a signal of num_samples samples, padded, ascending, not overlapping.
/// Shapes: probabilities [n_blocks]; block i begins at sample i * options.block.
[[nodiscard]] std::vector<SampleRange> find_speech(std::span<const float> probabilities,
                                                   int64_t num_samples,
                                                   const SpeechSegmentOptions& options = {});

}  // namespace rill::audio
