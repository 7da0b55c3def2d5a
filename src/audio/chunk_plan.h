// SPDX-License-Identifier: Apache-2.0
// How long audio is cut into chunks that the encoder takes one by one. Pure functions of sample
// positions.
#pragma once

#include <cstdint>
#include <optional>
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

/// A chunk, and the stretch from the first to the last sample of speech in it.
struct SpeechChunk {
  SampleRange range;
  SampleRange speech;
};

/// Packs speech segments into chunks while they are found. Chunks ascend and do not overlap; what
/// lies outside them is not speech. Units: samples.
class SpeechChunkPlanner {
 public:
  /// options.max_chunk must be positive.
  explicit SpeechChunkPlanner(const SpeechChunkOptions& options);

  /// The next segment, in a signal of num_samples samples; while its length is not known, any
  /// number from speech.end + padding on.
  void add(const SampleRange& speech, int64_t num_samples);
  /// The next segment, which begins at known.begin and reaches at least known.end. Its add() must
  /// follow, after any number of these.
  void reach(const SampleRange& known);
  /// The segments that come next begin at `begin` or later.
  void advance(int64_t begin);
  /// No more segments.
  void finish();
  /// The chunks that nothing can change any more and that were not taken before.
  [[nodiscard]] std::vector<SpeechChunk> take();
  /// The chunk that is being filled.
  [[nodiscard]] std::optional<SampleRange> open() const;

 private:
  void start(const SampleRange& range, const SampleRange& speech);
  void grow(int64_t end, int64_t speech_end);
  void close(int64_t end);
  void split_overlap(const SampleRange& padded, const SampleRange& speech);
  [[nodiscard]] bool fits(int64_t end) const { return end - current_.begin <= options_.max_chunk; }

  SpeechChunkOptions options_;
  bool open_ = false;
  bool reaching_ = false;  // current_ ends with a segment that has not ended
  SampleRange current_;
  SampleRange speech_;  // in current_, without padding; may begin before it
  std::vector<SpeechChunk> chunks_;
};

/// Packs the speech segments (ascending, inside the signal) of a whole signal. No segments give no
/// chunks.
[[nodiscard]] std::vector<SampleRange> plan_speech_chunks(std::span<const SampleRange> segments,
                                                          int64_t num_samples,
                                                          const SpeechChunkOptions& options = {});

}  // namespace rill::audio
