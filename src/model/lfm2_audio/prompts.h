// SPDX-License-Identifier: Apache-2.0
// The prompts of LFM2-Audio as lists of steps. Each piece of text is encoded by itself, so that
// merges never cross the borders of the markup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

/// In place of a token id: the step is the next generated frame that is replayed.
inline constexpr int32_t kFrameStep = -2;

/// The voices of the English checkpoint.
enum class Voice { kUsMale, kUsFemale, kUkMale, kUkFemale };

/// "us_male", "us_female", "uk_male", "uk_female"; nothing for another name.
[[nodiscard]] std::optional<Voice> voice_by_name(std::string_view name);

/// What a spoken conversation is told unless the request says something else.
inline constexpr std::string_view kDefaultChatSystem = "Respond with interleaved text and audio.";

// Prompts: token ids, kAudioStep and kFrameStep. Errors: those of the tokenizer.
// Source: liquid-audio README and ChatState.

/// To transcribe a clip of num_audio_steps encoder steps.
Result<std::vector<int32_t>> asr_prompt(const text::Tokenizer& tokenizer, Language language,
                                        size_t num_audio_steps);

/// To speak a text. The voice is of no use to the Japanese checkpoint, which has one.
Result<std::vector<int32_t>> tts_prompt(const text::Tokenizer& tokenizer, Language language,
                                        Voice voice, std::string_view text);

/// An earlier turn of a spoken conversation.
struct ChatTurn {
  size_t num_audio_steps = 0;  ///< of the question
  std::vector<int32_t>
      reply;  ///< its steps: token ids as generated, and kFrameStep; without <|im_end|>
};

/// To answer a spoken question after earlier turns.
Result<std::vector<int32_t>> chat_prompt(const text::Tokenizer& tokenizer, std::string_view system,
                                         std::span<const ChatTurn> earlier, size_t num_audio_steps);

}  // namespace rill::model::lfm2_audio
