// SPDX-License-Identifier: Apache-2.0
// What the commands that speak share: the flags of sampling, and pulling a stream to its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "options.h"
#include "runtime.h"

namespace CLI {
class App;
}

namespace rill::cli {

/// Flags that stand for request options; empty ones are left to the library's defaults.
struct SpeechFlags {
  std::string language;
  std::string max_tokens;
  std::string temperature;
  std::string top_k;
  std::string seed;
  std::vector<std::string> request_options;  ///< key=value
};

void add_speech_flags(CLI::App& command, SpeechFlags& flags);
std::vector<KeyValue> collect_speech_options(const SpeechFlags& flags);

/// Makes a request of the task with these options. Returns 0, or an exit code after printing why.
int make_speech_request(rill_task task, const std::vector<KeyValue>& options,
                        RequestHandle& request);

/// Pulls events until the stream is over or a signal came, and gives the sum. `on_event` returns 0,
/// or an exit code that ends the pulling. Returns 0, or an exit code after printing why.
int pull_events(Runtime& runtime, rill_stream* stream,
                const std::function<int(const rill_event&)>& on_event, ResultHandle& result);

}  // namespace rill::cli
