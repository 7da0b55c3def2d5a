// SPDX-License-Identifier: Apache-2.0
// How long audio is cut into chunks that the encoder takes one by one. Pure functions of sample
// positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/sample_range.h"

namespace rill::audio {

/// Cuts every max_chunk samples. A last piece shorter than min_last joins the chunk before it, and
/// the two are split evenly, so that no chunk is longer than max_chunk. No samples give no chunks.
/// Units: samples; max_chunk must be positive.
[[nodiscard]] std::vector<SampleRange> plan_fixed_chunks(int64_t num_samples, int64_t max_chunk,
                                                         int64_t min_last = 16000);

/// How speech segments become chunks; the defaults are for 16 kHz.
struct SpeechChunkOptions {
  int64_t max_chunk = 480000;  ///< positive; no chunk is longer
  int64_t merge_gap = 8000;    ///< padded segments at most this far apart share a chunk if they fit
  int64_t padding = 4000;      ///< added on both sides of each segment
};

/// Packs speech segments (ascending, inside the signal) into chunks. Chunks ascend and do not
/// overlap; what lies outside them is not speech. No segments give no chunks. Units: samples.
[[nodiscard]] std::vector<SampleRange> plan_speech_chunks(std::span<const SampleRange> segments,
                                                          int64_t num_samples,
                                                          const SpeechChunkOptions& options = {});

}  // namespace rill::audio
