// SPDX-License-Identifier: Apache-2.0
#include "tasks/frame_picker.h"

#include <algorithm>
#include <random>
#include <utility>

namespace rill::tasks {
namespace {

session::SamplerOptions sampler(float temperature, size_t top_k, uint64_t seed, uint64_t stream) {
  session::SamplerOptions options;
  options.temperature = temperature;
  options.top_k = top_k;
  options.seed = seed;
  options.stream = stream;
  return options;
}

}  // namespace

Result<FramePicker> FramePicker::create(const model::lfm2_audio::SpeechParts& speech,
                                        session::SamplerOptions options) {
  const auto& config = speech.depthformer().config();
  RILL_ASSIGN_OR_RETURN(auto decoder,
                        model::depthformer::FrameDecoder::create(speech.depthformer()));
  return FramePicker(config.num_codebooks, static_cast<int32_t>(config.end_code()),
                     std::move(decoder), std::move(options));
}

Result<Frame> FramePicker::pick(ops::Context& context, std::span<const float> hidden) {
  Frame frame;
  frame.codes.reserve(num_codebooks_);
  RILL_RETURN_IF_ERROR(decoder_.begin(context, hidden));
  while (frame.codes.size() < num_codebooks_) {
    const int32_t previous = frame.codes.empty() ? 0 : frame.codes.back();
    RILL_ASSIGN_OR_RETURN(const auto logits, decoder_.next(context, previous));
    RILL_ASSIGN_OR_RETURN(const int32_t code, sampler_.pick(logits));
    frame.codes.push_back(code);
  }
  if (frame.codes.front() == end_code_) {
    std::fill(frame.codes.begin(), frame.codes.end(), end_code_);
    frame.kind = FrameKind::kEnd;
  } else if (std::find(frame.codes.begin(), frame.codes.end(), end_code_) != frame.codes.end()) {
    frame.kind = FrameKind::kSkipped;
  }
  return frame;
}

session::SamplerOptions text_sampler(float temperature, size_t top_k, uint64_t seed) {
  return sampler(temperature, top_k, seed, 0);
}

session::SamplerOptions audio_sampler(float temperature, size_t top_k, uint64_t seed) {
  return sampler(temperature, top_k, seed, 1);
}

uint64_t random_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace rill::tasks
