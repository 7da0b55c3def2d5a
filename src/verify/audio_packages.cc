// SPDX-License-Identifier: Apache-2.0
// The packages of an audio set.
#include <algorithm>

#include "base/str_cat.h"
#include "verify/audio_model.h"
#include "verify/set_files.h"

namespace rill::verify {
namespace {

bool is_backbone(const std::string& file) {
  return file.ends_with(".gguf") && !file.starts_with("mmproj-") && !file.starts_with("vocoder-") &&
         !file.starts_with("tokenizer-");
}

/// The longest name of vectors/packages.json that the file's stem ends with, else what follows its
/// last dash.
std::string label_of(const std::string& file, const Json& packages) {
  const std::string stem = file.substr(0, file.size() - 5);
  std::string best;
  if (packages.is_object()) {
    for (const auto& [name, value] : packages.members()) {
      if (stem.ends_with("-" + name) && name.size() > best.size()) best = name;
    }
  }
  return best.empty() ? stem.substr(stem.rfind('-') + 1) : best;
}

}  // namespace

Result<std::vector<PackageRef>> list_packages(const Run& run) {
  if (!run.model.empty()) return std::vector<PackageRef>{{run.model, "", "model"}};
  Json packages;
  if (is_file(run.set_dir + "/vectors/packages.json")) {
    RILL_ASSIGN_OR_RETURN(packages, read_json(run.set_dir + "/vectors/packages.json"));
  }
  std::vector<PackageRef> out;
  const std::string root = run.set_dir + "/packages";
  RILL_ASSIGN_OR_RETURN(const auto directories, list_directory(root));
  for (const std::string& directory : directories) {
    const std::string path = root + "/" + directory;
    if (!is_directory(path)) continue;
    RILL_ASSIGN_OR_RETURN(const auto files, list_directory(path));
    for (const std::string& file : files) {
      if (is_backbone(file)) out.push_back({path, file, label_of(file, packages)});
    }
  }
  if (out.empty()) return Error{ErrorCode::kNotFound, cat("read set: ", root, ": no package")};
  return out;
}

Result<std::unique_ptr<model::lfm2_audio::Model>> load_package(Run& run, const PackageRef& package,
                                                               model::lfm2_audio::Use use) {
  model::lfm2_audio::LoadOptions options;
  options.use = use;
  if (!package.backbone.empty()) options.files.model_gguf = package.backbone;
  return model::lfm2_audio::Model::load(package.directory, options, *run.context.pool);
}

bool has_float_weights(const model::lfm2_audio::Model& model) {
  return !is_quantized(model.backbone().weights().embed_tokens.dtype());
}

}  // namespace rill::verify
