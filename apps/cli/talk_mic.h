// SPDX-License-Identifier: Apache-2.0
// rill talk --mic: a live conversation: listens until a pause, answers aloud, listens again.
#pragma once

#include <functional>
#include <string>

#include "handles.h"
#include "runtime.h"
#include "talk_history.h"

namespace rill::cli {

struct MicrophoneOptions {
  std::string microphone = "default";  ///< ALSA's name
  std::string speaker = "default";     ///< ALSA's name; "none": replies are not played
  size_t pause_ms = 700;               ///< silence that ends a question
};

/// Holds the conversation until a signal comes or the microphone gives no more. `make_request`
/// makes a request of the next turn without its history. Returns 0, or an exit code after printing
/// why.
int talk_to_microphone(const MicrophoneOptions& options, Runtime& runtime, TalkHistory& history,
                       const std::function<int(RequestHandle&)>& make_request);

}  // namespace rill::cli
