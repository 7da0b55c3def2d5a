// SPDX-License-Identifier: Apache-2.0
// Speech recognition: audio in, transcript out. Long audio is cut into chunks; each is a turn of
// its own.
#pragma once

#include <atomic>
#include <span>

#include "base/log.h"
#include "base/result.h"
#include "model/lfm2_audio/package.h"
#include "model/silero_vad/silero_vad.h"
#include "ops/context.h"
#include "tasks/asr_options.h"
#include "tasks/audio_input.h"
#include "tasks/pass_limit.h"
#include "tasks/transcript.h"

namespace rill::tasks {

/// What a run is embedded in.
struct AsrRun {
  const Logger* logger = nullptr;             ///< warnings; may be null
  const std::atomic<bool>* cancel = nullptr;  ///< may be null
  void (*progress)(void* user, double done) = nullptr;
  void* progress_user = nullptr;
  double max_pass_duration_s = kDefaultMaxPassDurationS;
  const model::silero_vad::SileroVad* vad = nullptr;  ///< the speech detector; may be null
};

/// The least audio that gives a frame of features: 10 ms at 16 kHz.
inline constexpr size_t kMinAudioSamples = 160;

/// Transcribes a request's audio, which is read while it is transcribed: what a long file costs in
/// memory depends on the chunks, not on its length.
/// Errors: those of AudioInput::open and MonoPieces::read; kInvalidArgument (language);
///         kInvalidFormat (audio shorter than 10 ms); kNotFound (audio_chunk_mode=vad without a
///         detector); kContextFull (audio past the pass limit, or a prompt past the context);
///         kCancelled (before a chunk was finished); kOutOfMemory.
/// Source: liquid-audio generate_sequential with the ASR prompt (spec: audio, sections 7, 17, 18).
Result<Transcript> transcribe(const model::lfm2_audio::Model& model, ops::Context& context,
                              const AudioInput& audio, const AsrOptions& options,
                              const AsrRun& run);

/// The same for mono samples at 16 kHz.
Result<Transcript> transcribe_samples(const model::lfm2_audio::Model& model, ops::Context& context,
                                      std::span<const float> samples, const AsrOptions& options,
                                      const AsrRun& run);

}  // namespace rill::tasks
