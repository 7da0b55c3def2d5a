// SPDX-License-Identifier: Apache-2.0
// A spoken question as raw samples on standard input, handed on while they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rill/rill.h"

namespace rill::cli {

/// How raw samples are to be read; the names are those of the server's live route.
struct PcmFormat {
  int32_t sample_rate_hz = 16000;
  int32_t channels = 1;
  std::string sample_format = "s16le";  ///< or "f32le"
};

/// So many bytes of a file tell whether it has a header.
inline constexpr size_t kHeadBytes = 4;

/// Whether these bytes (kHeadBytes are enough) begin an audio file with a header.
[[nodiscard]] bool begins_audio_file(std::string_view head);

/// Reads the first bytes of standard input into `head`. Returns whether they begin an audio file
/// with a header; what does not is taken for raw samples.
bool starts_audio_file(std::string& head);

/// Reads the rest of standard input after `head` and appends it. Returns 0, or an exit code after
/// printing why.
int read_rest(std::string& head);

/// Pushes `head` and the rest of standard input to the stream in pieces of 0.1 s. Returns 0, or an
/// exit code after printing why.
int push_live_pcm(rill_stream* stream, const PcmFormat& format, const std::string& head);

}  // namespace rill::cli
