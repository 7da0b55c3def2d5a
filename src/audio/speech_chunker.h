// SPDX-License-Identifier: Apache-2.0
// SpeechChunker: from speech probabilities to chunks while the signal comes in; the chunks are
// those of find_speech and plan_speech_chunks over the whole signal.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "audio/chunk_plan.h"
#include "audio/vad_segments.h"

namespace rill::audio {

/// Any cut of the signal gives the same chunks.
class SpeechChunker {
 public:
  SpeechChunker(const SpeechSegmentOptions& segments, const SpeechChunkOptions& chunks)
      : options_(chunks), finder_(segments), planner_(chunks) {}

  /// Takes the probabilities of the next blocks; `heard` samples of the signal are there by now.
  void push(std::span<const float> probabilities, int64_t heard);
  /// Ends the signal, which has num_samples samples.
  void finish(int64_t num_samples);
  /// The chunks that nothing can change any more and that were not taken before.
  [[nodiscard]] std::vector<SpeechChunk> take() { return planner_.take(); }

  /// What the next chunk would be if the signal ended here; nothing where nobody has spoken.
  [[nodiscard]] std::optional<SampleRange> open_chunk() const;
  /// Whether somebody is speaking in the last block.
  [[nodiscard]] bool is_speaking() const { return finder_.open().has_value(); }
  /// Chunks that were not taken yet begin here or later.
  [[nodiscard]] int64_t next_begin() const;

 private:
  void plan();

  SpeechChunkOptions options_;
  SpeechFinder finder_;
  SpeechChunkPlanner planner_;
  std::deque<SampleRange> ended_;  // segments whose padding is not there yet
  int64_t heard_ = 0;
};

}  // namespace rill::audio
