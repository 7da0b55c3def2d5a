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
  codes_.insert(codes_.end(), codes.begin(), codes.end());
  ++num_frames_;
  const bool event_ready = ++frames_in_event_ >= frames_per_event_;
  if (event_ready) frames_in_event_ = 0;
  if (event_ready || codes_.size() >= kFramesTogether * codes.size())
    RILL_RETURN_IF_ERROR(decode(context));
  return event_ready;
}

Status SpeechWriter::decode(ops::Context& context) {
  if (codes_.empty()) return {};
  RILL_RETURN_IF_ERROR(stream_.push(context, codes_, pcm_));
  codes_.clear();
  return {};
}

Result<std::vector<float>> SpeechWriter::take_pcm(ops::Context& context) {
  RILL_RETURN_IF_ERROR(decode(context));
  frames_in_event_ = 0;
  return std::exchange(pcm_, {});
}

Status SpeechWriter::finish(ops::Context& context) {
  RILL_RETURN_IF_ERROR(decode(context));
  stream_.finish(pcm_);
  return {};
}

}  // namespace rill::tasks
