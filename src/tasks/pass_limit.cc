// SPDX-License-Identifier: Apache-2.0
#include "tasks/pass_limit.h"

#include <cstdint>
#include <string>

#include "base/str_cat.h"
#include "tasks/audio_input.h"

namespace rill::tasks {
namespace {

/// "120.1": tenths of a second, rounded up.
std::string seconds_rounded_up(double seconds) {
  auto tenths = static_cast<uint64_t>(seconds * 10.0);
  // Half a sample is below any real excess, and above the rounding of the division.
  if (static_cast<double>(tenths) / 10.0 < seconds - 0.5 / kModelSampleRateHz) ++tenths;
  return cat(tenths / 10, ".", tenths % 10);
}

}  // namespace

size_t samples_of_seconds(double seconds) {
  return static_cast<size_t>(seconds * kModelSampleRateHz + 0.5);
}

Status check_pass_limit(size_t num_samples, double limit_s, std::string_view subject,
                        std::string_view remedy) {
  if (num_samples <= samples_of_seconds(limit_s)) return {};
  return Error{
      ErrorCode::kContextFull,
      cat("LFM2-Audio encodes at most ", seconds_rounded_up(limit_s),
          " s of audio in one pass (lfm2_audio.max_pass_duration_sec), and ", subject, " is ",
          seconds_rounded_up(static_cast<double>(num_samples) / kModelSampleRateHz), " s; ",
          remedy)};
}

}  // namespace rill::tasks
