// SPDX-License-Identifier: Apache-2.0
// FramePicker: one audio frame from a hidden state: depthformer and sampler, codebook by codebook.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/lfm2_audio/speech.h"
#include "ops/context.h"
#include "session/sampler.h"

namespace rill::tasks {

/// What a frame means.
enum class FrameKind {
  kSpoken,   ///< decoded to sound
  kSkipped,  ///< the end code in a codebook other than the first: fed back and counted, but without
             ///< sound
  kEnd,      ///< the end code in the first codebook; all codes are then the end code
};

struct Frame {
  std::vector<int32_t> codes;  // [Q]
  FrameKind kind = FrameKind::kSpoken;
};

/// Threading: one thread. Lifetime: the speech parts outlive it.
class FramePicker {
 public:
  /// Errors: kOutOfMemory.
  static Result<FramePicker> create(const model::lfm2_audio::SpeechParts& speech,
                                    session::SamplerOptions sampler);

  /// Picks the codes of the next frame. All codebooks draw from one sampler.
  /// Errors: those of FrameDecoder. Source: liquid-audio _sample_audio_frame (spec: audio, section
  /// 8).
  Result<Frame> pick(ops::Context& context, std::span<const float> hidden);

 private:
  FramePicker(size_t num_codebooks, int32_t end_code, model::depthformer::FrameDecoder decoder,
              session::SamplerOptions sampler)
      : num_codebooks_(num_codebooks),
        end_code_(end_code),
        decoder_(std::move(decoder)),
        sampler_(std::move(sampler)) {}

  size_t num_codebooks_;
  int32_t end_code_;
  model::depthformer::FrameDecoder decoder_;
  session::Sampler sampler_;
};

/// The sampler of codes: separate from the text's, so that a sampled text does not change the draws
/// of the codes.
[[nodiscard]] session::SamplerOptions audio_sampler(float temperature, size_t top_k, uint64_t seed);
[[nodiscard]] session::SamplerOptions text_sampler(float temperature, size_t top_k, uint64_t seed);

/// A seed for a request that gives none, from the system's source of randomness.
[[nodiscard]] uint64_t random_seed();

}  // namespace rill::tasks
