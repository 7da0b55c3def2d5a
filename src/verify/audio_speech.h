// SPDX-License-Identifier: Apache-2.0
// Subjects of an audio set about speech out, and about plans that need no model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audio/sample_range.h"
#include "base/json.h"
#include "verify/verify.h"

namespace rill::verify {

/// vectors/tts and vectors/s2s: replies, step by step.
void verify_tts(Run& run, const std::string& name, Report& report);
void verify_s2s(Run& run, const std::string& name, Report& report);
/// vectors/conversation: prompts with earlier turns.
void verify_conversation(Run& run, const std::string& name, Report& report);
/// vectors/detokenizer: codes to waveform, whole and streamed.
void verify_detokenizer(Run& run, const std::string& name, Report& report);
/// vectors/schedules: when a reply writes and when it speaks.
void verify_schedules(Run& run, const std::string& name, Report& report);
/// vectors/sampling: probabilities after temperature and top-k.
void verify_sampling(Run& run, const std::string& name, Report& report);
/// vectors/text_chunks, vectors/vad_chunks, vectors/vad: how text and audio are cut.
void verify_text_chunks(Run& run, const std::string& name, Report& report);
void verify_vad_chunks(Run& run, const std::string& name, Report& report);
void verify_vad(Run& run, const std::string& name, Report& report);

// What the subjects about plans share. Errors: kInvalidFormat naming `where` and the key.
Result<int64_t> json_int(const Json& object, std::string_view key, std::string_view where);
Result<std::vector<audio::SampleRange>> json_ranges(const Json& entry, std::string_view key,
                                                    std::string_view where);

}  // namespace rill::verify
