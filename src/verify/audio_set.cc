// SPDX-License-Identifier: Apache-2.0
// The subjects of an audio set: one for each name in vectors/.
#include <algorithm>

#include "base/str_cat.h"
#include "verify/audio_frontend.h"
#include "verify/audio_model.h"
#include "verify/audio_speech.h"
#include "verify/set_files.h"
#include "verify/verify.h"

namespace rill::verify {
namespace {

void not_built(Run&, const std::string&, Report& report) {
  report.not_built("", "this build does not run the subject");
}

struct KnownSubject {
  const char* name;
  void (*verify)(Run& run, const std::string& name, Report& report);
};

// In pipeline order, so that the first miss names the stage that drifts.
constexpr KnownSubject kKnown[] = {
    {"lengths", verify_lengths},
    {"resampled", verify_resampled},
    {"frontend_constants", verify_frontend_constants},
    {"frontend_stages", verify_frontend_stages},
    {"features", verify_features},
    {"encoder", verify_encoder},
    {"tokenizer_cases", verify_tokenizer_cases},
    {"prompts", verify_prompts},
    {"backbone_layers", verify_backbone_layers},
    {"asr", verify_asr},
    {"packages", verify_packages},
    {"schedules", verify_schedules},
    {"sampling", verify_sampling},
    {"detokenizer", verify_detokenizer},
    {"tts", verify_tts},
    {"s2s", verify_s2s},
    {"conversation", verify_conversation},
    {"text_chunks", verify_text_chunks},
    {"vad", verify_vad},
    {"vad_chunks", verify_vad_chunks},
};

}  // namespace

Result<std::vector<Subject>> audio_subjects(const std::string& set_dir) {
  RILL_ASSIGN_OR_RETURN(const auto files, list_directory(set_dir + "/vectors"));
  std::vector<std::string> names;
  for (const std::string& file : files) {
    const size_t dot = file.rfind('.');
    const std::string extension = dot == std::string::npos ? "" : file.substr(dot);
    const std::string name = file.substr(0, dot);
    if ((extension != ".json" && extension != ".safetensors") || name == "manifest") continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<Subject> out;
  for (const KnownSubject& known : kKnown) {
    const auto it = std::find(names.begin(), names.end(), known.name);
    if (it == names.end()) continue;
    out.push_back({known.name, known.verify});
    names.erase(it);
  }
  for (const std::string& name : names) out.push_back({name, not_built});
  return out;
}

}  // namespace rill::verify
