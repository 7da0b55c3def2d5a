// SPDX-License-Identifier: Apache-2.0
#include "audio/chunk_plan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace rill::audio {

std::vector<SampleRange> plan_fixed_chunks(int64_t num_samples, int64_t max_chunk,
                                           int64_t min_last) {
  RILL_CHECK(max_chunk > 0, "plan_fixed_chunks: max_chunk must be positive");
  std::vector<SampleRange> chunks;
  for (int64_t begin = 0; begin < num_samples; begin += max_chunk) {
    chunks.push_back({begin, std::min(begin + max_chunk, num_samples)});
  }
  if (chunks.size() > 1 && chunks.back().length() < min_last) {
    SampleRange& before = chunks[chunks.size() - 2];
    const int64_t middle = before.begin + (num_samples - before.begin) / 2;
    before.end = middle;
    chunks.back().begin = middle;
  }
  return chunks;
}

SpeechChunkPlanner::SpeechChunkPlanner(const SpeechChunkOptions& options) : options_(options) {
  RILL_CHECK(options.max_chunk > 0, "SpeechChunkPlanner: max_chunk must be positive");
}

void SpeechChunkPlanner::start(const SampleRange& range, const SampleRange& speech) {
  current_ = {range.begin, range.begin};
  speech_ = {speech.begin, speech.begin};
  open_ = true;
  grow(range.end, speech.end);
}

// What is longer than the limit is cut every max_chunk samples.
void SpeechChunkPlanner::grow(int64_t end, int64_t speech_end) {
  while (end - current_.begin > options_.max_chunk) {
    const int64_t cut = current_.begin + options_.max_chunk;
    speech_.end = std::min(cut, speech_end);
    close(cut);
    open_ = true;
    current_.begin = cut;
  }
  current_.end = end;
  speech_.end = speech_end;
}

void SpeechChunkPlanner::close(int64_t end) {
  current_.end = end;
  open_ = false;
  if (current_.length() <= 0) return;
  SampleRange speech = {std::max(speech_.begin, current_.begin), std::min(speech_.end, end)};
  if (speech.length() <= 0) speech = current_;  // a rest that is all padding
  chunks_.push_back({current_, speech});
}

// A segment that overlaps the current chunk and does not fit: cut between the two stretches of
// speech if there is such a point, else where the chunk is full.
void SpeechChunkPlanner::split_overlap(const SampleRange& padded, const SampleRange& speech) {
  int64_t cut = current_.begin + options_.max_chunk;
  if (speech.begin >= speech_.end)
    cut = std::max(std::min(current_.end, speech.begin), speech_.end);
  // A chunk that begins inside the padding after its speech has nothing before the cut.
  cut = std::max(cut, current_.begin);
  close(cut);
  start({cut, padded.end}, speech);
}

void SpeechChunkPlanner::add(const SampleRange& speech, int64_t num_samples) {
  const SampleRange padded = {std::max<int64_t>(0, speech.begin - options_.padding),
                              std::min(num_samples, speech.end + options_.padding)};
  if (std::exchange(reaching_, false)) return grow(padded.end, speech.end);
  if (!open_) return start(padded, speech);
  const int64_t end = current_.end;
  if (padded.end <= end) {
    speech_.end = speech.end;
  } else if (padded.begin - end <= options_.merge_gap && fits(padded.end)) {
    grow(padded.end, speech.end);
  } else if (padded.begin <= end) {
    split_overlap(padded, speech);
  } else {
    close(end);
    start(padded, speech);
  }
}

void SpeechChunkPlanner::reach(const SampleRange& known) {
  if (reaching_) return grow(known.end, known.end);
  const SampleRange padded = {std::max<int64_t>(0, known.begin - options_.padding), known.end};
  if (open_) {
    const bool is_far = padded.begin - current_.end > options_.merge_gap;
    if (!is_far && fits(known.end)) return;  // it may still share the chunk
    reaching_ = true;
    if (padded.begin <= current_.end) return split_overlap(padded, known);
    close(current_.end);
  }
  reaching_ = true;
  start(padded, known);
}

void SpeechChunkPlanner::advance(int64_t begin) {
  if (open_ && !reaching_ && begin - options_.padding - current_.end > options_.merge_gap)
    close(current_.end);
}

void SpeechChunkPlanner::finish() {
  if (open_) close(current_.end);
}

std::vector<SpeechChunk> SpeechChunkPlanner::take() { return std::exchange(chunks_, {}); }

std::optional<SampleRange> SpeechChunkPlanner::open() const {
  if (!open_) return std::nullopt;
  return current_;
}

std::vector<SampleRange> plan_speech_chunks(std::span<const SampleRange> segments,
                                            int64_t num_samples,
                                            const SpeechChunkOptions& options) {
  SpeechChunkPlanner planner(options);
  for (const SampleRange& speech : segments) planner.add(speech, num_samples);
  planner.finish();
  std::vector<SampleRange> chunks;
  for (const SpeechChunk& chunk : planner.take()) chunks.push_back(chunk.range);
  return chunks;
}

}  // namespace rill::audio
