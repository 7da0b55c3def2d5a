// SPDX-License-Identifier: Apache-2.0
#include "endpointer.h"

#include <algorithm>
#include <utility>

namespace rill::cli {

bool Endpointer::push(std::span<const int16_t> piece, bool speaking) {
  sound_.insert(sound_.end(), piece.begin(), piece.end());
  started_ = started_ || speaking;
  if (!started_) {
    const size_t wanted = samples(options_.pre_roll_ms);
    if (sound_.size() > wanted)
      sound_.erase(sound_.begin(), sound_.end() - static_cast<std::ptrdiff_t>(wanted));
    return false;
  }
  silence_samples_ = speaking ? 0 : silence_samples_ + piece.size();
  return silence_samples_ >= samples(options_.pause_ms) ||
         sound_.size() >= options_.max_question_s * kSampleRateHz;
}

std::vector<int16_t> Endpointer::take() {
  std::vector<int16_t> question;
  if (started_) question = std::move(sound_);
  const size_t kept_silence = std::min(silence_samples_, samples(options_.kept_pause_ms));
  question.resize(question.size() - std::min(question.size(), silence_samples_ - kept_silence));
  *this = Endpointer(options_);
  return question;
}

}  // namespace rill::cli
