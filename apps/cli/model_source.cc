// SPDX-License-Identifier: Apache-2.0
#include "model_source.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "exit_codes.h"
#include "hub_cache.h"
#include "hub_catalog.h"
#include "hub_error.h"
#include "hub_work.h"

namespace rill::cli {
namespace {

ModelSource source_of(const hub::Installed& installed) {
  ModelSource source{installed.path.string(), {}};
  // A snapshot may hold packages of several types side by side.
  if (installed.selection.kind == hub::Selection::Kind::kPackage)
    source.extra.emplace_back("lfm2_audio.model_gguf", installed.selection.main);
  return source;
}

ModelSource find_or_fetch(const std::string& text, bool offline) {
  const auto ref = hub::parse_repo_ref(text);
  if (!ref) {
    throw hub::HubError(kExitUsage, "-hf: got '" + text + "', expected ORG/REPO[:TYPE]");
  }
  const hub::HubSettings settings = hub::read_hub_settings(offline);
  const hub::HubCache cache(settings.cache_dir);
  if (const auto installed = cache.find(*ref)) return source_of(*installed);
  return source_of(install_with_progress(settings, cache, *ref, {}));
}

ModelSource find_by_name(const std::string& name, const hub::ModelRef& ref) {
  const hub::HubCache cache(hub::read_hub_settings(true).cache_dir);
  if (const auto installed = cache.find(ref)) return source_of(*installed);
  throw hub::HubError(kExitUnreadable, "--model " + name + ": no such file, and not in the cache " +
                                           cache.dir().string() + "; 'rill models install " + name +
                                           "' fetches it");
}

}  // namespace

int find_model(const std::string& model, const std::string& hf_repo, bool offline,
               ModelSource& source) {
  return hub_work([&] {
    std::error_code ignored;
    if (!hf_repo.empty()) {
      source = find_or_fetch(hf_repo, offline);
      return kExitOk;
    }
    source = {model, {}};
    if (model.empty() || std::filesystem::exists(model, ignored)) return kExitOk;
    if (const auto ref = hub::parse_model_ref(model)) source = find_by_name(model, *ref);
    return kExitOk;
  });
}

std::string main_file(const ModelSource& source) {
  for (const auto& [key, value] : source.extra) {
    if (key == "lfm2_audio.model_gguf") return source.path + "/" + value;
  }
  return source.path;
}

}  // namespace rill::cli
