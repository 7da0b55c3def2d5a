// SPDX-License-Identifier: Apache-2.0
// InterleaveSchedule: when a spoken reply writes text and when it speaks. No model, only the
// counting.
#pragma once

#include <cstdint>

#include "model/lfm2_audio/speech.h"

namespace rill::tasks {

/// The state between steps: call begin_step(), do what is_text() says, then report what came of it.
/// Source: liquid-audio generate_interleaved (spec: audio, section 10).
class InterleaveSchedule {
 public:
  explicit InterleaveSchedule(const model::lfm2_audio::Interleave& blocks)
      : blocks_(blocks), left_(static_cast<int64_t>(blocks.num_text)) {}

  /// True if the next step picks a text token, false if it picks a frame.
  [[nodiscard]] bool is_text() const { return is_text_; }

  void begin_step() { --left_; }

  /// A text token was written; `ends_text` for <|text_end|>.
  void after_text(bool ends_text) {
    text_done_ = text_done_ || ends_text;
    if (left_ == 0 || text_done_) {
      is_text_ = false;
      left_ = static_cast<int64_t>(blocks_.num_audio);
    }
  }

  /// A frame was picked; `ends_audio` for the end frame, which goes back to text and leaves the
  /// counter alone.
  void after_frame(bool ends_audio) {
    if (left_ == 0 && !text_done_) {
      is_text_ = true;
      left_ = static_cast<int64_t>(blocks_.num_text);
    }
    if (ends_audio) is_text_ = true;
  }

 private:
  model::lfm2_audio::Interleave blocks_;
  int64_t left_;  // below zero only after <|text_end|>, where it no longer matters
  bool is_text_ = true;
  bool text_done_ = false;
};

}  // namespace rill::tasks
