// SPDX-License-Identifier: Apache-2.0
// Subjects prompts and tokenizer_cases of an audio set.
#include <algorithm>
#include <utility>

#include "audio/log_mel.h"
#include "base/parse_number.h"
#include "verify/audio_frontend.h"
#include "verify/audio_support.h"

namespace rill::verify {
namespace {

using model::lfm2_audio::ChatTurn;
using Ids = std::vector<int32_t>;

/// The files that say what each prompt was made from.
struct PromptSources {
  Json asr;
  Json tts;
  Json s2s;
  Json conversation;
};

Result<PromptSources> read_sources(const Run& run) {
  PromptSources sources;
  const std::pair<const char*, Json*> files[] = {{"asr", &sources.asr},
                                                 {"tts", &sources.tts},
                                                 {"s2s", &sources.s2s},
                                                 {"conversation", &sources.conversation}};
  for (const auto& [name, target] : files) {
    const std::string path = vectors_path(run, name, "json");
    if (!is_file(path)) continue;
    RILL_ASSIGN_OR_RETURN(*target, read_json(path));
  }
  return sources;
}

Result<const Json*> member(const Json& object, std::string_view key, std::string_view file) {
  const Json* value = object.find(key);
  if (value != nullptr) return value;
  return Error{ErrorCode::kInvalidFormat,
               cat("read set: vectors/", file, ".json: no '", printable(key), "'")};
}

Result<Language> language_of(const Json& entry, std::string_view where) {
  RILL_ASSIGN_OR_RETURN(const std::string code, json_string(entry, "language", where));
  return code == "ja" ? Language::kJapanese : Language::kEnglish;
}

Result<size_t> steps_of_clip(const Run& run, const std::string& clip) {
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  return audio::audio_steps(samples.size());
}

Result<Ids> build_asr(const Run& run, const Model& model, const PromptSources& sources,
                      const std::string& clip) {
  RILL_ASSIGN_OR_RETURN(const Json* entry, member(sources.asr, clip, "asr"));
  RILL_ASSIGN_OR_RETURN(const Language language, language_of(*entry, "vectors/asr.json"));
  RILL_ASSIGN_OR_RETURN(const size_t steps, steps_of_clip(run, clip));
  return model::lfm2_audio::asr_prompt(model.tokenizer(), language, steps);
}

Result<Ids> build_tts(const Model& model, const PromptSources& sources, const std::string& key) {
  RILL_ASSIGN_OR_RETURN(const Json* entry, member(sources.tts, key, "tts"));
  RILL_ASSIGN_OR_RETURN(const Language language, language_of(*entry, "vectors/tts.json"));
  RILL_ASSIGN_OR_RETURN(const std::string text, json_string(*entry, "text", "vectors/tts.json"));
  RILL_ASSIGN_OR_RETURN(const std::string voice_name,
                        json_string(*entry, "voice", "vectors/tts.json"));
  const auto voice = model::lfm2_audio::voice_by_name(voice_name);
  if (!voice && language == Language::kEnglish) {
    return Error{ErrorCode::kUnsupported,
                 cat("read set: vectors/tts.json: unknown voice '", voice_name, "'")};
  }
  return model::lfm2_audio::tts_prompt(model.tokenizer(), language,
                                       voice.value_or(model::lfm2_audio::Voice::kUsMale), text);
}

/// The steps of a reply: ids as they are, a frame as kFrameStep.
Result<Ids> reply_steps(const PromptSources& sources, const std::string& key) {
  RILL_ASSIGN_OR_RETURN(const Json* entry, member(sources.s2s, key, "s2s"));
  RILL_ASSIGN_OR_RETURN(const Json* steps, member(*entry, "steps", "s2s"));
  if (!steps->is_array())
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/s2s.json: 'steps' is no array"};
  Ids out;
  for (const Json& step : steps->items()) {
    out.push_back(step.is_int() ? static_cast<int32_t>(step.as_int())
                                : model::lfm2_audio::kFrameStep);
  }
  return out;
}

/// "en_turn2": the second turn of the English conversation.
Result<Ids> build_conversation(const Run& run, const Model& model, const PromptSources& sources,
                               const std::string& key) {
  const size_t split = key.find("_turn");
  const auto number = split == std::string::npos
                          ? std::nullopt
                          : parse_uint(std::string_view(key).substr(split + 5));
  RILL_ASSIGN_OR_RETURN(const Json* turns,
                        member(sources.conversation, key.substr(0, split), "conversation"));
  if (!number || !turns->is_array() || *number == 0 || *number > turns->items().size()) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("read set: vectors/conversation.json: no turn for '", key, "'")};
  }
  std::vector<ChatTurn> earlier;
  for (size_t i = 0; i < *number; ++i) {
    const Json& turn = turns->items()[i];
    RILL_ASSIGN_OR_RETURN(const std::string clip,
                          json_string(turn, "question", "vectors/conversation.json"));
    RILL_ASSIGN_OR_RETURN(const size_t steps, steps_of_clip(run, clip));
    if (i + 1 == *number) {
      return model::lfm2_audio::chat_prompt(model.tokenizer(),
                                            model::lfm2_audio::kDefaultChatSystem, earlier, steps);
    }
    RILL_ASSIGN_OR_RETURN(const std::string reply,
                          json_string(turn, "reply_key", "vectors/conversation.json"));
    RILL_ASSIGN_OR_RETURN(auto reply_ids, reply_steps(sources, reply));
    earlier.push_back({steps, std::move(reply_ids)});
  }
  return Error{ErrorCode::kInternal, "read set: a conversation without turns"};
}

Result<Ids> build_prompt(const Run& run, const Model& model, const PromptSources& sources,
                         const std::string& name) {
  if (name.starts_with("asr_")) return build_asr(run, model, sources, name.substr(4));
  if (name.starts_with("tts_")) return build_tts(model, sources, name.substr(4));
  if (name.starts_with("conversation_"))
    return build_conversation(run, model, sources, name.substr(13));
  if (name.starts_with("s2s_")) {
    RILL_ASSIGN_OR_RETURN(const size_t steps, steps_of_clip(run, name.substr(4)));
    return model::lfm2_audio::chat_prompt(model.tokenizer(), model::lfm2_audio::kDefaultChatSystem,
                                          {}, steps);
  }
  return Error{ErrorCode::kUnsupported, "this build has no such prompt"};
}

Status compare_prompts(Run& run, const Model& model, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json prompts, read_json(vectors_path(run, "prompts", "json")));
  RILL_ASSIGN_OR_RETURN(const PromptSources sources, read_sources(run));
  if (!prompts.is_object())
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/prompts.json: not an object"};
  for (const auto& [name, entry] : prompts.members()) {
    RILL_ASSIGN_OR_RETURN(const auto want, json_ids(entry, "ids", "vectors/prompts.json"));
    const auto got = build_prompt(run, model, sources, name);
    if (got) {
      report.ids(name, *got, want);
    } else {
      report.failed(name, got.error().message);
    }
  }
  return {};
}

Status compare_tokenizer_cases(Run& run, const std::string& label, const Model& model,
                               Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json cases, read_json(vectors_path(run, "tokenizer_cases", "json")));
  if (!cases.is_array())
    return Error{ErrorCode::kInvalidFormat, "read set: vectors/tokenizer_cases.json: not an array"};
  size_t mismatches = 0;
  for (const Json& entry : cases.items()) {
    RILL_ASSIGN_OR_RETURN(const std::string text,
                          json_string(entry, "text", "tokenizer_cases.json"));
    RILL_ASSIGN_OR_RETURN(const std::string decoded,
                          json_string(entry, "decoded", "tokenizer_cases.json"));
    RILL_ASSIGN_OR_RETURN(const auto ids, json_ids(entry, "ids", "tokenizer_cases.json"));
    RILL_ASSIGN_OR_RETURN(const auto got, model.tokenizer().encode(text));
    if (got != ids || model.tokenizer().decode(ids, true, text::OpenCharacter::kDrop) != decoded)
      ++mismatches;
  }
  report.mismatches(label, mismatches, cat(cases.items().size(), " cases"));
  return {};
}

}  // namespace

void verify_prompts(Run& run, const std::string&, Report& report) {
  bool done = false;  // all packages of a set share one tokenizer
  report_failure(for_each_package(run, report,
                                  [&](const std::string&, const Model& model) -> Status {
                                    if (std::exchange(done, true)) return {};
                                    return compare_prompts(run, model, report);
                                  }),
                 report);
}

void verify_tokenizer_cases(Run& run, const std::string&, Report& report) {
  report_failure(for_each_package(run, report,
                                  [&](const std::string& label, const Model& model) {
                                    return compare_tokenizer_cases(run, label, model, report);
                                  }),
                 report);
}

}  // namespace rill::verify
