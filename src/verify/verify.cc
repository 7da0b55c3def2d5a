// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.h"

#include <algorithm>

#include "base/str_cat.h"
#include "verify/set_files.h"

namespace rill::verify {
namespace {

enum class SetLayout { kNone, kText, kAudio };

/// A text set has the models' manifest.json at its top, an audio set the vectors' manifest.json in
/// vectors/.
SetLayout layout_of(const std::string& dir) {
  if (is_file(dir + "/vectors/manifest.json")) return SetLayout::kAudio;
  if (is_file(dir + "/manifest.json")) return SetLayout::kText;
  return SetLayout::kNone;
}

/// The set directories: the given one, or the sets right inside it.
Result<std::vector<std::string>> find_sets(const std::string& dir) {
  if (!is_directory(dir)) {
    return Error{ErrorCode::kNotFound, cat("verify: ", printable(dir), ": no such directory")};
  }
  if (layout_of(dir) != SetLayout::kNone) return std::vector<std::string>{dir};
  RILL_ASSIGN_OR_RETURN(const auto names, list_directory(dir));
  std::vector<std::string> sets;
  for (const std::string& name : names) {
    const std::string path = dir + "/" + name;
    if (is_directory(path) && layout_of(path) != SetLayout::kNone) sets.push_back(path);
  }
  if (sets.empty()) {
    return Error{
        ErrorCode::kInvalidFormat,
        cat("verify: ", printable(dir), ": no conformance set: got neither manifest.json nor ",
            "vectors/manifest.json")};
  }
  return sets;
}

Result<std::vector<Subject>> subjects_of(const std::string& dir) {
  return layout_of(dir) == SetLayout::kAudio ? audio_subjects(dir) : text_subjects(dir);
}

bool selects(const std::string& only, const std::string& subject) {
  return subject == only || subject.starts_with(only + ".");
}

/// Fills the tolerances that the manifest sets.
Status read_tolerances(const std::string& dir, Tolerances& tolerances) {
  const bool audio = layout_of(dir) == SetLayout::kAudio;
  const std::string path = dir + (audio ? "/vectors/manifest.json" : "/manifest.json");
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(path));
  const Json* values = manifest.find("tolerances");
  if (values == nullptr) return {};
  const std::pair<const char*, double*> fields[] = {
      {"hidden", &tolerances.hidden},
      {"log_mel", &tolerances.log_mel},
      {"waveform", &tolerances.waveform},
      {"q8_0", &tolerances.q8_0},
      {"q4", &tolerances.q4},
      {"q8_0_tie", &tolerances.q8_0_tie},
      {"q4_tie", &tolerances.q4_tie},
  };
  for (const auto& [name, field] : fields) {
    const Json* value = values->find(name);
    if (value != nullptr && value->is_number()) *field = value->as_double();
  }
  return {};
}

void check_hashes(const std::string& dir, Report& report) {
  auto hashes = named_hashes(dir);
  if (!hashes) return report.failed("", std::move(hashes).error().message);
  for (const auto& [path, expected] : *hashes) {
    auto actual = hash_file(dir + "/" + path);
    if (!actual) {
      report.failed(path, std::move(actual).error().message);
    } else {
      report.mismatches(path, *actual == expected ? 0 : 1,
                        *actual == expected ? "" : cat("SHA-256 is ", *actual));
    }
  }
}

Result<size_t> run_set(ops::Context& context, const std::string& dir, const VerifyOptions& options,
                       RowSink sink) {
  RILL_ASSIGN_OR_RETURN(const auto subjects, subjects_of(dir));
  Run run{context, dir, options.model, {}, sink, options.vad};
  RILL_RETURN_IF_ERROR(read_tolerances(dir, run.tolerances));
  size_t misses = 0;
  Report hashes("files", sink);
  check_hashes(dir, hashes);
  misses += hashes.misses();
  for (const Subject& subject : subjects) {
    const bool wanted =
        options.only.empty() ||
        std::any_of(options.only.begin(), options.only.end(),
                    [&](const std::string& only) { return selects(only, subject.name); });
    if (!wanted) continue;
    Report report(subject.name, sink);
    subject.verify(run, subject.name, report);
    if (report.rows() == 0) report.failed("", "the set has nothing to compare for this subject");
    misses += report.misses();
  }
  return misses;
}

/// Every name of `only` must select something somewhere.
Status check_only(const std::vector<std::string>& sets, const std::vector<std::string>& only) {
  std::vector<std::string> known;
  for (const std::string& dir : sets) {
    RILL_ASSIGN_OR_RETURN(const auto subjects, subjects_of(dir));
    for (const Subject& subject : subjects) known.push_back(subject.name);
  }
  for (const std::string& name : only) {
    if (std::none_of(known.begin(), known.end(),
                     [&](const std::string& s) { return selects(name, s); })) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("verify: the set has no subject '", printable(name), "', only ",
                       std::span<const std::string>(known))};
    }
  }
  return {};
}

}  // namespace

Result<size_t> verify_set(ops::Context& context, const VerifyOptions& options, RowSink sink) {
  RILL_ASSIGN_OR_RETURN(const auto sets, find_sets(options.set));
  RILL_RETURN_IF_ERROR(check_only(sets, options.only));
  size_t misses = 0;
  for (const std::string& dir : sets) {
    RILL_ASSIGN_OR_RETURN(const size_t set_misses, run_set(context, dir, options, sink));
    misses += set_misses;
  }
  return misses;
}

}  // namespace rill::verify
