// SPDX-License-Identifier: Apache-2.0
#include "tasks/speech_checks.h"

#include "base/str_cat.h"

namespace rill::tasks {

Status check_can_speak(const model::lfm2_audio::Model& model) {
  if (model.speech() != nullptr) return {};
  return Error{ErrorCode::kUnsupported,
               "this model was opened to transcribe only; open it for speech, with its vocoder and "
               "tokenizer files"};
}

Status check_speech_language(const model::lfm2_audio::Model& model, const std::string& language) {
  const std::string_view own = model::lfm2_audio::language_code(model.language());
  if (language.empty() || language == "auto" || language == own) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("this LFM2-Audio checkpoint speaks ", own, ", not ", printable(language))};
}

}  // namespace rill::tasks
