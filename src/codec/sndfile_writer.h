// SPDX-License-Identifier: Apache-2.0
// The encoders behind libsndfile; internal to codec/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "codec/audio_writer.h"

namespace rill::codec {

/// FLAC, Opus or Vorbis. Errors: those of encode_sound_file.
Result<std::vector<std::byte>> encode_with_sndfile(SoundFileFormat format, uint32_t sample_rate_hz,
                                                   std::span<const float> samples);

}  // namespace rill::codec
