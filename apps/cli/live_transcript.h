// SPDX-License-Identifier: Apache-2.0
// Transcription of sound that is still coming in: from standard input, a file or a microphone to
// events.
#pragma once

#include <functional>
#include <string>

#include "live_input.h"
#include "live_pcm.h"
#include "runtime.h"

namespace rill::cli {

/// Called with each partial and final segment; returns 0, or an exit code that ends the stream.
using TranscriptEventFn = std::function<int(const rill_transcript_event& event)>;

/// Where live sound comes from.
struct LiveSource {
  std::string path = "-";  ///< audio file; "-" is standard input
  PcmFormat pcm;           ///< of standard input that begins no audio file
  CaptureFn capture;       ///< instead of the path: a microphone, mono at 16 kHz
};

/// Transcribes until the sound ends or a signal comes; what was final by then is the result. A
/// signal ends only the listening of a microphone: what was said is still transcribed. Returns 0,
/// or an exit code after printing why; 130 or 143 after a signal.
int transcribe_live(Runtime& runtime, const rill_request* request, double partial_seconds,
                    const LiveSource& source, const TranscriptEventFn& on_event,
                    ResultHandle& result);

}  // namespace rill::cli
