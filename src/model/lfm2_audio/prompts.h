// SPDX-License-Identifier: Apache-2.0
// The prompts of LFM2-Audio as lists of steps. Each piece of text is encoded by itself, so that
// merges never cross the borders of the markup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace rill::model::lfm2_audio {

/// Languages that have checkpoints.
enum class Language { kEnglish, kJapanese };

/// "en" or "ja".
[[nodiscard]] std::string_view language_code(Language language);

/// In place of a token id: the step is the next row of the adapter's output.
inline constexpr int32_t kAudioStep = -1;

/// The transcription prompt: token ids, and kAudioStep at the num_audio_steps audio positions.
/// Errors: those of the tokenizer.
/// Source: liquid-audio README and ChatState (spec: prompts).
Result<std::vector<int32_t>> asr_prompt(const text::Tokenizer& tokenizer, Language language,
                                        size_t num_audio_steps);

}  // namespace rill::model::lfm2_audio
