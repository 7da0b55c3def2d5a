// SPDX-License-Identifier: Apache-2.0
// rill transcribe --stream and --mic: the flags, and how events are shown.
#pragma once

#include <string>

#include "live_transcript.h"

namespace rill::cli {

struct LiveOptions {
  bool stream = false;
  bool microphone = false;  ///< implies stream
  std::string device = "default";
  std::string partial_seconds;  ///< "": 1 where somebody sees partial results, else 0
  PcmFormat pcm;

  [[nodiscard]] bool is_live() const { return stream || microphone; }
};

void add_live_options(CLI::App& command, LiveOptions& options);

/// Transcribes the microphone or `path` while it comes in. Segments go to stdout as they are final
/// (format text: a line each; json: an object per line, partial results too) or at the end (other
/// formats); partial results to a terminal on stderr. Returns 0, or an exit code after printing
/// why.
int show_live_transcript(Runtime& runtime, const rill_request* request, const LiveOptions& options,
                         const std::string& path, const std::string& format, ResultHandle& result);

}  // namespace rill::cli
