// SPDX-License-Identifier: Apache-2.0
// The readers that other libraries stand behind; internal to codec/. Their output is as exact as
// those libraries are: MP3, Vorbis and Opus decoders do not promise the same bits on each machine,
// FLAC does.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "audio/pcm.h"
#include "base/result.h"

namespace rill::codec {

/// FLAC, Ogg Vorbis, MP3, AIFF, AU, CAF through libsndfile. `kind` names the data in messages.
/// Errors: kInvalidFormat, kUnsupported.
Result<std::unique_ptr<audio::AudioReader>> open_sndfile(std::vector<std::byte> bytes,
                                                         const std::string& kind);

/// Ogg Opus through opusfile; always 48 kHz.
/// Errors: kInvalidFormat.
Result<std::unique_ptr<audio::AudioReader>> open_opus(std::vector<std::byte> bytes);

}  // namespace rill::codec
