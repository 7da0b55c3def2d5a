// SPDX-License-Identifier: Apache-2.0
// rill models: what is in the model cache, and what can be put into it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "exit_codes.h"
#include "hub_error.h"
#include "hub_hash.h"
#include "hub_work.h"
#include "interrupt.h"
#include "options.h"
#include "output.h"
#include "progress.h"

namespace rill::cli {
namespace {

using hub::HubCache;
using hub::HubError;
using hub::Installed;
using hub::ModelRef;

struct ModelsOptions {
  std::string name;
  bool offline = false;
  bool force = false;
  bool json = false;
};

ModelRef read_name(const std::string& name) {
  if (const auto ref = hub::parse_model_ref(name)) return *ref;
  throw HubError(kExitUsage, "models: no model is called '" + name +
                                 "'; 'rill models list' shows the names, and ORG/REPO[:TYPE] "
                                 "names any repository");
}

HubCache open_cache() { return HubCache(hub::read_hub_settings(true).cache_dir); }

Installed find_installed(const HubCache& cache, const std::string& name) {
  if (auto installed = cache.find(read_name(name))) return *installed;
  throw HubError(kExitUnreadable, "models: " + name + " is not in the cache " +
                                      cache.dir().string() + "; 'rill models install " + name +
                                      "' fetches it");
}

/// Bytes of the model's files; links are followed.
uint64_t size_of(const Installed& installed) {
  uint64_t total = 0;
  for (const std::string& file : installed.selection.files) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(installed.snapshot / file, error);
    if (!error) total += size;
  }
  return total;
}

/// The types of an entry's files that the cache has.
std::vector<std::string> installed_types(const HubCache& cache, const hub::CatalogEntry& entry) {
  std::vector<std::string> types;
  for (const char* type : {"F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0"}) {
    auto ref = hub::parse_model_ref(std::string(entry.name) + ":" + type);
    if (ref && cache.find(*ref)) types.emplace_back(type);
  }
  if (types.empty() && cache.find(*hub::parse_model_ref(entry.name))) types.emplace_back("yes");
  return types;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

std::string padded(std::string_view text, size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size() + 2), ' ');
  return out;
}

/// Repositories in the cache that are none of the table's.
std::vector<std::string> other_repos(const HubCache& cache) {
  std::vector<std::string> repos = cache.repos();
  std::erase_if(repos, [](const std::string& repo) {
    return std::any_of(hub::catalog().begin(), hub::catalog().end(),
                       [&](const hub::CatalogEntry& entry) { return entry.repo == repo; });
  });
  return repos;
}

std::string list_as_json(const HubCache& cache) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const hub::CatalogEntry& entry : hub::catalog()) {
    models.push_back({{"name", entry.name},
                      {"repo", entry.repo},
                      {"revision", entry.revision},
                      {"pinned", hub::is_commit(entry.revision)},
                      {"default_type", entry.default_quant},
                      {"installed", installed_types(cache, entry)}});
  }
  const nlohmann::ordered_json out = {
      {"cache", cache.dir().string()}, {"models", models}, {"other", other_repos(cache)}};
  return out.dump(2) + "\n";
}

std::string list_as_text(const HubCache& cache) {
  std::string out = padded("NAME", 26) + padded("DEFAULT", 9) + padded("REVISION", 11) +
                    padded("IN THE CACHE", 17) + "ABOUT\n";
  for (const hub::CatalogEntry& entry : hub::catalog()) {
    const bool pinned = hub::is_commit(entry.revision);
    const std::string here = joined(installed_types(cache, entry));
    out += padded(entry.name, 26) + padded(entry.default_quant, 9) +
           padded(pinned ? entry.revision.substr(0, 9) : "unpinned", 11) +
           padded(here.empty() ? "-" : here, 17) + std::string(entry.about) + "\n";
  }
  for (const std::string& repo : other_repos(cache)) out += "also in the cache: " + repo + "\n";
  return out;
}

int list(const ModelsOptions& options) {
  const HubCache cache = open_cache();
  return write_stdout(options.json ? list_as_json(cache) : list_as_text(cache));
}

int install(const ModelsOptions& options) {
  const ModelRef ref = read_name(options.name);
  const hub::HubSettings settings = hub::read_hub_settings(options.offline);
  const HubCache cache(settings.cache_dir);
  auto installed = cache.find(ref);
  // A commit never changes, a branch does: only then is there something to ask.
  const bool complete = installed && (hub::is_commit(ref.revision) || settings.offline);
  if (!complete || options.force)
    installed = install_with_progress(settings, cache, ref, {.force = options.force});
  return write_stdout(installed->path.string() + "\n");
}

int path(const ModelsOptions& options) {
  return write_stdout(find_installed(open_cache(), options.name).path.string() + "\n");
}

/// The hash that a file of a snapshot should have: the name of the blob that it links to.
std::string expected_hash(const std::filesystem::path& file) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(file, error);
  const std::string name = error ? "" : target.filename().string();
  return hub::is_hash(name) ? name : "";
}

int verify(const ModelsOptions& options) {
  const Installed installed = find_installed(open_cache(), options.name);
  const HoldSignals hold;
  int exit_code = kExitOk;
  for (const std::string& name : installed.selection.files) {
    const auto file = installed.snapshot / name;
    const std::string expected = expected_hash(file);
    std::string verdict = "no recorded hash";
    if (!expected.empty()) {
      ProgressBar bar(name);
      const std::string hash = hub::hash_file(file, expected.size(), [&](double done) {
        bar.update(done);
        return interrupt_exit_code() == 0;
      });
      verdict = hash == expected ? "ok" : "damaged: got " + hash;
    }
    if (verdict.starts_with("damaged")) exit_code = kExitFailed;
    const int written = write_stdout(verdict + "  " + expected + "  " + name + "\n");
    if (written != kExitOk) return written;
  }
  if (exit_code == kExitOk) return exit_code;
  return report(exit_code, "models: " + options.name + " is damaged; 'rill models install " +
                               options.name + " --force' fetches it again");
}

int remove(const ModelsOptions& options) {
  const HubCache cache = open_cache();
  const Installed installed = find_installed(cache, options.name);
  const ModelRef ref = read_name(options.name);
  const uint64_t size = size_of(installed);
  const uint64_t freed = cache.remove(ref.repo, installed.commit, installed.selection.files);
  std::string text = "removed " + std::to_string(installed.selection.files.size()) + " files, " +
                     std::to_string(freed) + " bytes\n";
  if (freed < size) text += "other snapshots keep " + std::to_string(size - freed) + " bytes\n";
  return write_stdout(text);
}

using Work = int (*)(const ModelsOptions&);

void run_work(CLI::App* command, const std::shared_ptr<ModelsOptions>& options, Work work,
              int& exit_code) {
  command->callback(
      [options, work, &exit_code] { exit_code = hub_work([&] { return work(*options); }); });
}

CLI::App* add_named(CLI::App* models, const char* name, const char* about,
                    const std::shared_ptr<ModelsOptions>& options) {
  CLI::App* command = models->add_subcommand(name, about);
  command->add_option("NAME", options->name, "Name of the list, or ORG/REPO; [:TYPE] at its end")
      ->required();
  return command;
}

}  // namespace

void add_models_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App* models = app.add_subcommand("models", "Fetch, find, check and remove models");
  models->require_subcommand(1);
  CLI::App* listing = models->add_subcommand("list", "Names, and what is in the cache");
  with_env(listing->add_flag("--json", options->json, "As JSON"));
  run_work(listing, options, list, exit_code);
  CLI::App* fetch = add_named(models, "install", "Fetch a model; prints its path", options);
  with_env(fetch->add_flag("--offline", options->offline, "Never ask the network"));
  with_env(fetch->add_flag("--force", options->force, "Fetch again what is there"));
  run_work(fetch, options, install, exit_code);
  run_work(add_named(models, "path", "Print where a model of the cache lies", options), options,
           path, exit_code);
  run_work(add_named(models, "verify", "Check the hashes of a model of the cache", options),
           options, verify, exit_code);
  run_work(add_named(models, "remove", "Remove a model from the cache", options), options, remove,
           exit_code);
  models->footer(
      "Example:\n"
      "  rill models install lfm2.5-audio-1.5b:Q8_0\n"
      "  rill models install LiquidAI/LFM2-350M-GGUF:Q4_K_M");
}

}  // namespace rill::cli
