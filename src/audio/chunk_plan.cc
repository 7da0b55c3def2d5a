// SPDX-License-Identifier: Apache-2.0
#include "audio/chunk_plan.h"

#include <algorithm>

#include "base/check.h"

namespace rill::audio {
namespace {

// The chunk that is being filled, and those that are done.
class Planner {
 public:
  explicit Planner(int64_t max_chunk) : max_chunk_(max_chunk) {}

  [[nodiscard]] bool open() const { return open_; }
  [[nodiscard]] const SampleRange& current() const { return current_; }
  [[nodiscard]] int64_t speech_end() const { return speech_end_; }
  [[nodiscard]] bool fits(int64_t end) const { return end - current_.begin <= max_chunk_; }

  void extend(int64_t end, int64_t speech_end) {
    current_.end = end;
    speech_end_ = speech_end;
  }
  // Starts a chunk; what is longer than the limit is cut every max_chunk samples.
  void start(SampleRange range, int64_t speech_end) {
    while (range.length() > max_chunk_) {
      chunks_.push_back({range.begin, range.begin + max_chunk_});
      range.begin += max_chunk_;
    }
    current_ = range;
    speech_end_ = speech_end;
    open_ = true;
  }
  void close(int64_t end) {
    current_.end = end;
    if (current_.length() > 0) chunks_.push_back(current_);
    open_ = false;
  }
  std::vector<SampleRange> take() {
    if (open_) close(current_.end);
    return std::move(chunks_);
  }

 private:
  int64_t max_chunk_;
  bool open_ = false;
  SampleRange current_;
  int64_t speech_end_ = 0;  // of the speech in current_, without padding
  std::vector<SampleRange> chunks_;
};

// A segment that overlaps the current chunk and does not fit: cut between the two stretches of
// speech if there is such a point, else where the chunk is full.
void split_overlap(const SampleRange& padded, const SampleRange& speech, int64_t max_chunk,
                   Planner& planner) {
  int64_t cut = planner.current().begin + max_chunk;
  if (speech.begin >= planner.speech_end()) {
    cut = std::max(std::min(planner.current().end, speech.begin), planner.speech_end());
  }
  // A chunk that begins inside the padding after its speech has nothing before the cut.
  cut = std::max(cut, planner.current().begin);
  planner.close(cut);
  planner.start({cut, padded.end}, speech.end);
}

void add_segment(const SampleRange& padded, const SampleRange& speech,
                 const SpeechChunkOptions& options, Planner& planner) {
  if (!planner.open()) return planner.start(padded, speech.end);
  const int64_t end = planner.current().end;
  if (padded.end <= end) return planner.extend(end, speech.end);
  if (padded.begin <= end) {
    if (planner.fits(padded.end)) return planner.extend(padded.end, speech.end);
    return split_overlap(padded, speech, options.max_chunk, planner);
  }
  if (padded.begin - end <= options.merge_gap && planner.fits(padded.end)) {
    return planner.extend(padded.end, speech.end);
  }
  planner.close(end);
  planner.start(padded, speech.end);
}

}  // namespace

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

std::vector<SampleRange> plan_speech_chunks(std::span<const SampleRange> segments,
                                            int64_t num_samples,
                                            const SpeechChunkOptions& options) {
  RILL_CHECK(options.max_chunk > 0, "plan_speech_chunks: max_chunk must be positive");
  Planner planner(options.max_chunk);
  for (const SampleRange& speech : segments) {
    const SampleRange padded = {std::max<int64_t>(0, speech.begin - options.padding),
                                std::min(num_samples, speech.end + options.padding)};
    add_segment(padded, speech, options, planner);
  }
  return planner.take();
}

}  // namespace rill::audio
