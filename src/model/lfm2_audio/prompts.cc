// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2_audio/prompts.h"

#include <utility>

namespace rill::model::lfm2_audio {
namespace {

constexpr std::string_view kStart = "<|startoftext|>";
constexpr std::string_view kSystemTurn = "<|im_start|>system\n";
constexpr std::string_view kUserTurn = "<|im_start|>user\n";
constexpr std::string_view kAssistantTurn = "<|im_start|>assistant\n";
constexpr std::string_view kEndOfTurn = "<|im_end|>\n";

constexpr std::string_view kAsrEnglish = "Perform ASR.";
constexpr std::string_view kAsrJapanese = "Perform ASR in japanese.";
constexpr std::string_view kTtsJapanese = "Perform TTS in japanese.";

struct VoiceRow {
  Voice voice;
  std::string_view name;
  std::string_view system;
};
constexpr VoiceRow kVoices[] = {
    {Voice::kUsMale, "us_male", "Perform TTS. Use the US male voice."},
    {Voice::kUsFemale, "us_female", "Perform TTS. Use the US female voice."},
    {Voice::kUkMale, "uk_male", "Perform TTS. Use the UK male voice."},
    {Voice::kUkFemale, "uk_female", "Perform TTS. Use the UK female voice."},
};

/// Collects the steps of a prompt.
class PromptBuilder {
 public:
  explicit PromptBuilder(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  Status add_text(std::string_view piece) {
    RILL_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer_.encode(piece));
    steps_.insert(steps_.end(), ids.begin(), ids.end());
    return {};
  }
  void add_audio(size_t num_steps) { steps_.insert(steps_.end(), num_steps, kAudioStep); }

  /// The start of a conversation, up to where the first user turn's content goes.
  Status open(std::string_view system) {
    for (const std::string_view piece : {kStart, kSystemTurn, system, kEndOfTurn, kUserTurn}) {
      RILL_RETURN_IF_ERROR(add_text(piece));
    }
    return {};
  }
  /// From the end of a user turn's content to where the reply begins.
  Status ask() {
    RILL_RETURN_IF_ERROR(add_text(kEndOfTurn));
    return add_text(kAssistantTurn);
  }

  /// A reply that is over, and the start of the next user turn.
  Status replay(std::span<const int32_t> reply) {
    steps_.insert(steps_.end(), reply.begin(), reply.end());
    RILL_RETURN_IF_ERROR(add_text(kEndOfTurn));
    return add_text(kUserTurn);
  }

  std::vector<int32_t> take() { return std::move(steps_); }

 private:
  const text::Tokenizer& tokenizer_;
  std::vector<int32_t> steps_;
};

}  // namespace

std::string_view language_code(Language language) {
  return language == Language::kJapanese ? "ja" : "en";
}

Result<std::vector<int32_t>> asr_prompt(const text::Tokenizer& tokenizer, Language language,
                                        size_t num_audio_steps) {
  PromptBuilder prompt(tokenizer);
  RILL_RETURN_IF_ERROR(prompt.open(language == Language::kJapanese ? kAsrJapanese : kAsrEnglish));
  prompt.add_audio(num_audio_steps);
  RILL_RETURN_IF_ERROR(prompt.ask());
  return prompt.take();
}

std::optional<Voice> voice_by_name(std::string_view name) {
  for (const VoiceRow& row : kVoices) {
    if (row.name == name) return row.voice;
  }
  return std::nullopt;
}

Result<std::vector<int32_t>> tts_prompt(const text::Tokenizer& tokenizer, Language language,
                                        Voice voice, std::string_view text) {
  PromptBuilder prompt(tokenizer);
  const std::string_view english = kVoices[static_cast<size_t>(voice)].system;
  RILL_RETURN_IF_ERROR(prompt.open(language == Language::kJapanese ? kTtsJapanese : english));
  RILL_RETURN_IF_ERROR(prompt.add_text(text));
  RILL_RETURN_IF_ERROR(prompt.ask());
  return prompt.take();
}

Result<std::vector<int32_t>> chat_prompt(const text::Tokenizer& tokenizer, std::string_view system,
                                         std::span<const ChatTurn> earlier,
                                         size_t num_audio_steps) {
  PromptBuilder prompt(tokenizer);
  RILL_RETURN_IF_ERROR(prompt.open(system));
  for (const ChatTurn& turn : earlier) {
    prompt.add_audio(turn.num_audio_steps);
    RILL_RETURN_IF_ERROR(prompt.ask());
    RILL_RETURN_IF_ERROR(prompt.replay(turn.reply));
  }
  prompt.add_audio(num_audio_steps);
  RILL_RETURN_IF_ERROR(prompt.ask());
  return prompt.take();
}

}  // namespace rill::model::lfm2_audio
