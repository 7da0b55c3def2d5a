// SPDX-License-Identifier: Apache-2.0
// From speech probabilities per block to stretches of speech. Pure functions; the network that
// gives the probabilities is a model (model/silero_vad).
#pragma once

#include <cstdint>
#include <optional>
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
  /// A pause also ends speech after this long if it is only doubtful (from release to threshold),
  /// so that no signal must be kept longer. The reference waits for ever.
  int64_t max_doubt = 480000;
};

/// Finds segments while the signal comes in: padded, ascending, not overlapping. Which segments
/// come out does not depend on how the probabilities are cut.
class SpeechFinder {
 public:
  explicit SpeechFinder(const SpeechSegmentOptions& options = {}) : options_(options) {}

  /// Takes the probabilities of the next blocks.
  void push(std::span<const float> probabilities);
  /// Ends the signal, which has num_samples samples.
  void finish(int64_t num_samples);
  /// The segments that nothing can change any more and that were not taken before.
  [[nodiscard]] std::vector<SampleRange> take();

  /// The segment that has not ended, if it is sure to be kept: where it begins, and how far it
  /// reaches at least.
  [[nodiscard]] std::optional<SampleRange> open() const;
  /// Segments that were not taken yet begin here or later.
  [[nodiscard]] int64_t next_begin() const;

 private:
  // Once the open segment is sure to be kept, its neighbour's end and its own begin are settled.
  void settle_open(int64_t known_end);
  void close_open(int64_t end);
  void release_held(int64_t padding);

  SpeechSegmentOptions options_;
  int64_t position_ = 0;                // where the next block begins
  std::optional<int64_t> start_;        // of the open segment, not padded
  std::optional<int64_t> open_begin_;   // the same, padded, once it is sure to be kept
  std::optional<int64_t> pending_end_;  // where it ends if the pause lasts
  std::optional<SampleRange> held_;     // the last segment, its end not padded yet
  bool any_kept_ = false;
  std::vector<SampleRange> done_;
};

/// Finds the segments of a whole signal of num_samples samples.
/// Shapes: probabilities [n_blocks]; block i begins at sample i * options.block.
[[nodiscard]] std::vector<SampleRange> find_speech(std::span<const float> probabilities,
                                                   int64_t num_samples,
                                                   const SpeechSegmentOptions& options = {});

}  // namespace rill::audio
