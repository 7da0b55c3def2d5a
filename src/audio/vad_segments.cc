// SPDX-License-Identifier: Apache-2.0
#include "audio/vad_segments.h"

#include <algorithm>
#include <utility>

namespace rill::audio {

void SpeechFinder::release_held(int64_t padding) {
  if (!held_) return;
  done_.push_back({held_->begin, held_->end + padding});
  held_.reset();
}

void SpeechFinder::settle_open(int64_t known_end) {
  if (!start_ || open_begin_ || known_end - *start_ <= options_.min_speech) return;
  int64_t padding = options_.padding;
  if (held_) {
    const int64_t gap = *start_ - held_->end;
    if (gap < 2 * padding) padding = gap / 2;
    release_held(padding);
  } else if (!any_kept_) {
    padding = std::min(padding, *start_);
  }
  open_begin_ = *start_ - padding;
  any_kept_ = true;
}

void SpeechFinder::close_open(int64_t end) {
  settle_open(end);
  if (open_begin_) held_ = SampleRange{*open_begin_, end};
  start_.reset();
  open_begin_.reset();
  pending_end_.reset();
}

void SpeechFinder::push(std::span<const float> probabilities) {
  for (const float probability : probabilities) {
    const int64_t sample = position_;
    if (probability >= options_.threshold) {
      pending_end_.reset();
      if (!start_) start_ = sample;
    } else if (start_) {
      const bool is_silent = probability < options_.release;
      if (is_silent && !pending_end_) pending_end_ = sample;
      const int64_t pause = pending_end_ ? sample - *pending_end_ : 0;
      if (pause >= (is_silent ? options_.min_silence : options_.max_doubt))
        close_open(*pending_end_);
    }
    settle_open(pending_end_.value_or(sample));
    // No later segment can be near enough to share the gap.
    if (held_ && start_.value_or(sample) - held_->end >= 2 * options_.padding)
      release_held(options_.padding);
    position_ += options_.block;
  }
}

void SpeechFinder::finish(int64_t num_samples) {
  if (start_) close_open(num_samples);
  if (held_) release_held(std::min(options_.padding, num_samples - held_->end));
}

std::vector<SampleRange> SpeechFinder::take() { return std::exchange(done_, {}); }

std::optional<SampleRange> SpeechFinder::open() const {
  if (!open_begin_) return std::nullopt;
  // The last block that was heard still belongs to it unless the pause has begun.
  return SampleRange{*open_begin_, pending_end_.value_or(position_ - options_.block)};
}

int64_t SpeechFinder::next_begin() const {
  if (!done_.empty()) return done_.front().begin;
  if (held_) return held_->begin;
  if (open_begin_) return *open_begin_;
  return std::max<int64_t>(0, start_.value_or(position_) - options_.padding);
}

std::vector<SampleRange> find_speech(std::span<const float> probabilities, int64_t num_samples,
                                     const SpeechSegmentOptions& options) {
  SpeechFinder finder(options);
  finder.push(probabilities);
  finder.finish(num_samples);
  return finder.take();
}

}  // namespace rill::audio
