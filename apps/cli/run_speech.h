// SPDX-License-Identifier: Apache-2.0
// The tasks of `rill run` that speak (TTS, S2S): their requests, runs and artifacts.
#pragma once

#include <string>
#include <vector>

#include "live_pcm.h"
#include "request_sequence.h"
#include "runtime.h"

namespace rill::cli {

/// Makes a request with these options and the item's text, voice and artifacts. Returns 0, or an
/// exit code after printing why.
int make_run_speech_request(rill_task task, const std::vector<KeyValue>& options,
                            const SequenceRequest& item, RequestHandle& request);

/// Where a request's question comes from, and how the request runs.
struct SpeechInput {
  bool streaming = false;  ///< the speech is written while it is made
  std::string audio;       ///< a file, "-": standard input, "": the task takes none
  PcmFormat pcm;           ///< of raw samples on standard input, which a streamed request takes
};

/// Runs the request and writes the speech to the sound file `out` ("": nowhere). Returns 0, or an
/// exit code after printing why.
int run_speech(Runtime& runtime, rill_request* request, const SpeechInput& input,
               const std::string& out, ResultHandle& result);

/// Prints each artifact of the result as artifact={"id", "kind", "payload_hex", "meta"}. Returns 0,
/// or an exit code after printing why.
int print_artifacts(const rill_result* result);

}  // namespace rill::cli
