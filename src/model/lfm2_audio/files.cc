// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2_audio/files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/str_cat.h"

namespace rill::model::lfm2_audio {
namespace {

namespace fs = std::filesystem;

/// A companion of the backbone: its file name prefix, and what messages and options call it.
struct Companion {
  std::string_view prefix;
  std::string_view label;
  std::string_view option;
};
constexpr Companion kMmproj = {"mmproj-", "mmproj", "lfm2_audio.mmproj_gguf"};
constexpr Companion kVocoder = {"vocoder-", "vocoder", "lfm2_audio.vocoder_gguf"};
constexpr Companion kDetokenizer = {"tokenizer-", "detokenizer", "lfm2_audio.detokenizer_gguf"};
constexpr std::string_view kModelOption = "lfm2_audio.model_gguf";

bool is_gguf_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".gguf";
  if (name.size() <= kSuffix.size()) return false;
  const std::string_view end = name.substr(name.size() - kSuffix.size());
  return std::equal(end.begin(), end.end(), kSuffix.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

bool is_companion(std::string_view name) {
  return name.starts_with(kMmproj.prefix) || name.starts_with(kVocoder.prefix) ||
         name.starts_with(kDetokenizer.prefix);
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ", ";
    out += printable(name);
  }
  return out;
}

/// The last part of a path.
std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// True if no part of a relative path leads out of the directory.
bool stays_inside(std::string_view path) {
  if (path.empty() || fs::path(path).is_absolute() || path.find('\\') != std::string_view::npos)
    return false;
  const fs::path parts(path);
  return std::none_of(parts.begin(), parts.end(),
                      [](const fs::path& part) { return part == ".."; });
}

/// Chooses the files of one package.
class Chooser {
 public:
  Chooser(std::string_view where, std::vector<std::string> names)
      : where_(where), names_(std::move(names)) {
    std::erase_if(names_, [](const std::string& name) { return !is_gguf_name(name); });
    std::sort(names_.begin(), names_.end());
  }

  /// The file that an option names.
  Result<std::string> from_option(std::string_view option, const std::string& value) const {
    if (!stays_inside(value) || !is_gguf_name(value)) {
      return Error{ErrorCode::kInvalidArgument,
                   cat(option, ": got '", printable(value), "', expected a GGUF file inside ",
                       where_, ", as a relative path")};
    }
    if (std::find(names_.begin(), names_.end(), value) == names_.end()) {
      return Error{ErrorCode::kNotFound,
                   cat(option, ": ", where_, " has no file ", printable(value))};
    }
    return value;
  }

  Result<std::string> backbone(const std::optional<std::string>& option) const {
    if (option) return from_option(kModelOption, *option);
    std::vector<std::string> candidates;
    for (const std::string& name : names_) {
      if (is_top_level(name) && !is_companion(name)) candidates.push_back(name);
    }
    if (candidates.empty())
      return Error{ErrorCode::kNotFound, cat(where_, " has no backbone GGUF")};
    if (candidates.size() > 1) {
      return Error{ErrorCode::kInvalidArgument,
                   cat(where_, " has several backbone GGUFs: ", join(candidates),
                       "; choose one with ", kModelOption)};
    }
    return candidates.front();
  }

  /// The backbone's companion, or "" if there is none.
  Result<std::string> companion(const Companion& kind, const std::optional<std::string>& option,
                                std::string_view backbone) const {
    if (option) return from_option(kind.option, *option);
    const std::string same_name = cat(kind.prefix, base_name(backbone));
    std::vector<std::string> candidates;
    for (const std::string& name : names_) {
      if (!is_top_level(name) || !name.starts_with(kind.prefix)) continue;
      if (name == same_name) return name;
      candidates.push_back(name);
    }
    if (candidates.empty()) return std::string();
    if (candidates.size() > 1) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("cannot pick the ", kind.label, " GGUF for ", printable(backbone), " among ",
                       join(candidates), "; choose one with ", kind.option)};
    }
    return candidates.front();
  }

 private:
  /// Files below subdirectories only come in through options.
  static bool is_top_level(std::string_view name) {
    return name.find('/') == std::string_view::npos;
  }

  std::string_view where_;
  std::vector<std::string> names_;
};

Error missing_companions(std::string_view where, const PackageFiles& files) {
  std::string missing;
  for (const auto& [kind, file] :
       {std::pair(kVocoder, files.vocoder), std::pair(kDetokenizer, files.detokenizer)}) {
    if (!file.empty()) continue;
    if (!missing.empty()) missing += " and ";
    missing += cat(kind.prefix, base_name(files.backbone));
  }
  return Error{ErrorCode::kNotFound, cat("TTS and S2S need ", missing, ", missing in ", where,
                                         "; install the package again with --overwrite")};
}

/// Names of the files in a directory.
Result<std::vector<std::string>> list_directory(const std::string& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::not_found) {
    return Error{ErrorCode::kNotFound, cat("open package: ", directory, ": no such directory")};
  }
  if (status.type() == fs::file_type::regular) {
    return Error{
        ErrorCode::kInvalidArgument,
        cat("open package: ", directory, ": got a ", is_gguf_name(directory) ? "GGUF file" : "file",
            ", expected the directory with the package's GGUF files")};
  }
  if (status.type() != fs::file_type::directory) {
    return Error{ErrorCode::kIo, cat("open package: ", directory, ": not a directory")};
  }
  std::vector<std::string> names;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;  // a dangling link is no file
    if (entry->is_regular_file(ignored)) names.push_back(entry->path().filename().string());
  }
  if (error) return Error{ErrorCode::kIo, cat("open package: ", directory, ": ", error.message())};
  return names;
}

}  // namespace

Result<PackageFiles> choose_files(std::string_view where, std::vector<std::string> names,
                                  const FileOptions& options, Use use) {
  const Chooser chooser(where, std::move(names));
  PackageFiles files;
  RILL_ASSIGN_OR_RETURN(files.backbone, chooser.backbone(options.model_gguf));
  RILL_ASSIGN_OR_RETURN(files.mmproj,
                        chooser.companion(kMmproj, options.mmproj_gguf, files.backbone));
  if (files.mmproj.empty()) {
    return Error{ErrorCode::kNotFound,
                 cat(where, " has no mmproj GGUF for ", printable(files.backbone), ": expected ",
                     kMmproj.prefix, base_name(files.backbone))};
  }
  if (use == Use::kListen) return files;
  RILL_ASSIGN_OR_RETURN(files.vocoder,
                        chooser.companion(kVocoder, options.vocoder_gguf, files.backbone));
  RILL_ASSIGN_OR_RETURN(files.detokenizer,
                        chooser.companion(kDetokenizer, options.detokenizer_gguf, files.backbone));
  if (files.vocoder.empty() || files.detokenizer.empty()) return missing_companions(where, files);
  return files;
}

Result<PackageFiles> select_files(const std::string& directory, const FileOptions& options,
                                  Use use) {
  RILL_ASSIGN_OR_RETURN(std::vector<std::string> names, list_directory(directory));
  for (const auto* option : {&options.model_gguf, &options.mmproj_gguf, &options.vocoder_gguf,
                             &options.detokenizer_gguf}) {
    if (!*option || !stays_inside(**option) || (*option)->find('/') == std::string::npos) continue;
    std::error_code error;
    if (fs::is_regular_file(fs::path(directory) / **option, error)) names.push_back(**option);
  }
  return choose_files(directory, std::move(names), options, use);
}

}  // namespace rill::model::lfm2_audio
