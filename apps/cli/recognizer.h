// SPDX-License-Identifier: Apache-2.0
// Speech recognition of one file: what transcribe, run and demo share.
#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "runtime.h"

namespace rill::cli {

/// Makes an ASR request with these request options. Returns 0, or an exit code after printing why.
int make_asr_request(const std::vector<KeyValue>& options, RequestHandle& request);

/// Runs the request on an audio file ("-": standard input), with a progress bar, cancelled by
/// signals. Returns 0, or an exit code after printing why; a run that a signal ended gives 130 or
/// 143 and, if a part was finished, the result.
int recognize_file(Runtime& runtime, rill_request* request, const std::string& path,
                   ResultHandle& result);

/// The result in a text form of the library ("text", "json", ...), ending with a newline.
/// Returns 0, or an exit code after printing why.
int format_result(const rill_result* result, const std::string& format, std::string& text);

}  // namespace rill::cli
