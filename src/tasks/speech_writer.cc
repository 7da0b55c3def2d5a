// SPDX-License-Identifier: Apache-2.0
#include "tasks/speech_writer.h"

#include <utility>

namespace rill::tasks {

Result<SpeechWriter> SpeechWriter::create(const model::detokenizer::Detokenizer& detokenizer,
                                          size_t frames_per_event) {
  RILL_ASSIGN_OR_RETURN(auto stream, model::detokenizer::Stream::create(detokenizer));
  return SpeechWriter(std::move(stream), frames_per_event);
}

Result<bool> SpeechWriter::push(ops::Context& context, std::span<const int32_t> codes) {
  RILL_RETURN_IF_ERROR(stream_.push(context, codes, pcm_));
  ++num_frames_;
  if (++frames_in_event_ < frames_per_event_) return false;
  frames_in_event_ = 0;
  return true;
}

std::vector<float> SpeechWriter::take_pcm() {
  frames_in_event_ = 0;
  return std::exchange(pcm_, {});
}

}  // namespace rill::tasks
