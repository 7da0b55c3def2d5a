// SPDX-License-Identifier: Apache-2.0
#include "audio/speech_chunker.h"

#include <algorithm>

namespace rill::audio {

void SpeechChunker::plan() {
  for (const SampleRange& segment : finder_.take()) ended_.push_back(segment);
  while (!ended_.empty() && ended_.front().end + options_.padding <= heard_) {
    planner_.add(ended_.front(), heard_);
    ended_.pop_front();
  }
  if (!ended_.empty()) {
    planner_.advance(ended_.front().begin);
  } else if (const auto open = finder_.open()) {
    planner_.reach(*open);
  } else {
    planner_.advance(finder_.next_begin());
  }
}

void SpeechChunker::push(std::span<const float> probabilities, int64_t heard) {
  finder_.push(probabilities);
  heard_ = heard;
  plan();
}

void SpeechChunker::finish(int64_t num_samples) {
  heard_ = num_samples;
  finder_.finish(num_samples);
  for (const SampleRange& segment : finder_.take()) ended_.push_back(segment);
  for (const SampleRange& segment : ended_) planner_.add(segment, num_samples);
  ended_.clear();
  planner_.finish();
}

std::optional<SampleRange> SpeechChunker::open_chunk() const {
  std::optional<SampleRange> chunk = planner_.open();
  const auto add = [&](int64_t begin, int64_t end) {
    if (!chunk) chunk = SampleRange{std::max<int64_t>(0, begin - options_.padding), end};
    chunk->end = std::min({end, heard_, chunk->begin + options_.max_chunk});
  };
  for (const SampleRange& segment : ended_) add(segment.begin, segment.end + options_.padding);
  if (const auto open = finder_.open()) add(open->begin, heard_);
  return chunk;
}

int64_t SpeechChunker::next_begin() const {
  if (const auto open = planner_.open()) return open->begin;
  const int64_t segment = ended_.empty() ? finder_.next_begin() : ended_.front().begin;
  return std::max<int64_t>(0, segment - options_.padding);
}

}  // namespace rill::audio
