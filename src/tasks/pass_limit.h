// SPDX-License-Identifier: Apache-2.0
// The limit on how much audio goes through the encoder in one pass, whose cost grows with the
// square of the length.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace rill::tasks {

inline constexpr double kDefaultMaxPassDurationS = 120.0;

/// Refuses audio of more than round(limit_s * 16000) samples.
/// Errors: kContextFull: "LFM2-Audio encodes at most L s of audio in one pass
/// (lfm2_audio.max_pass_duration_sec), and <subject> is N s; <remedy>", lengths to a tenth of a
/// second, rounded up. Source: spec: audio, section 17.
Status check_pass_limit(size_t num_samples, double limit_s, std::string_view subject,
                        std::string_view remedy);

/// Samples at 16 kHz of a duration, rounded to the nearest.
[[nodiscard]] size_t samples_of_seconds(double seconds);

}  // namespace rill::tasks
