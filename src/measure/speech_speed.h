// SPDX-License-Identifier: Apache-2.0
// Speed of a speech package: the encoder, frames of speech, and the wait for the first of them.
#pragma once

#include <cstddef>

#include "base/json.h"
#include "base/result.h"
#include "measure/read_share.h"
#include "model/lfm2_audio/package.h"
#include "ops/context.h"

namespace rill::measure {

/// Encoder and adapter on noise, and the features before them. Errors: kOutOfMemory, kInternal.
Result<Json> measure_encode(ops::Context& context, const model::lfm2_audio::Model& package,
                            double audio_seconds, size_t repeat);

/// Milliseconds per frame of a long reply (backbone step, depthformer, detokenizer), the bytes of
/// weights that one frame reads, and the time to the first audio of a text and of a spoken
/// question. The package must be loaded for speaking. Errors: kOutOfMemory, kInternal.
Result<Json> measure_speech(ops::Context& context, const model::lfm2_audio::Model& package,
                            size_t frames, size_t repeat);

/// Weights that a frame of speech reads, in bytes: the backbone once, the depthformer for each
/// codebook.
[[nodiscard]] size_t frame_bytes(const model::lfm2_audio::Model& package);

/// How much of the memory's read bandwidth a long reply uses, by the bytes of frame_bytes().
/// Errors: kOutOfMemory, kInternal.
Result<ReadShares> measure_speech_read_shares(ops::Context& context,
                                              const model::lfm2_audio::Model& package, size_t turns,
                                              ReadBandwidth& bandwidth);

}  // namespace rill::measure
