// SPDX-License-Identifier: Apache-2.0
#include "hub_cache.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include "exit_codes.h"
#include "hub_error.h"

namespace rill::cli::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModels = "models--";

std::string repo_folder(const std::string& repo) {
  const size_t slash = repo.find('/');
  return std::string(kModels) + repo.substr(0, slash) + "--" + repo.substr(slash + 1);
}

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw_io("create", path, error.message());
}

/// The file name of the blob that a link of a snapshot leads to; empty for a plain file.
fs::path link_target(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? fs::path() : target.filename();
}

/// All links and files below a folder, relative to it.
std::vector<fs::path> entries_below(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_symlink() || it->is_regular_file())
      out.push_back(it->path().lexically_relative(folder));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Removes the folder and those above it, up to `last`, while they are empty.
void remove_empty(fs::path folder, const fs::path& last) {
  std::error_code error;
  while (fs::is_empty(folder, error) && !error) {
    fs::remove(folder, error);
    if (error || folder == last) return;
    folder = folder.parent_path();
  }
}

bool has_files(const fs::path& folder) { return !entries_below(folder).empty(); }

}  // namespace

void throw_io(const std::string& what, const fs::path& path, const std::string& why) {
  throw HubError(kExitFailed, what + " " + path.string() + ": " + why);
}

fs::path HubCache::repo_dir(const std::string& repo) const { return dir_ / repo_folder(repo); }
fs::path HubCache::blob(const std::string& repo, const std::string& etag) const {
  return repo_dir(repo) / "blobs" / etag;
}
fs::path HubCache::snapshot(const std::string& repo, const std::string& commit) const {
  return repo_dir(repo) / "snapshots" / commit;
}
fs::path HubCache::lock(const std::string& repo, const std::string& etag) const {
  return dir_ / ".locks" / repo_folder(repo) / (etag + ".lock");
}

std::optional<std::string> HubCache::commit_of(const std::string& repo,
                                               const std::string& revision) const {
  std::error_code error;
  if (is_commit(revision)) {
    if (fs::is_directory(snapshot(repo, revision), error)) return revision;
    return std::nullopt;
  }
  std::ifstream file(repo_dir(repo) / "refs" / revision);
  std::string commit;
  std::getline(file, commit);
  while (!commit.empty() && static_cast<unsigned char>(commit.back()) <= ' ') commit.pop_back();
  if (!is_commit(commit)) return std::nullopt;
  return commit;
}

std::vector<std::string> HubCache::files(const std::string& repo, const std::string& commit) const {
  std::vector<std::string> names;
  const fs::path folder = snapshot(repo, commit);
  std::error_code error;
  for (const fs::path& entry : entries_below(folder)) {
    if (fs::is_regular_file(folder / entry, error)) names.push_back(entry.generic_string());
  }
  return names;
}

std::optional<Installed> HubCache::find(const ModelRef& ref) const {
  const auto commit = commit_of(ref.repo, ref.revision);
  if (!commit) return std::nullopt;
  std::string why;
  const auto selection = select_files(ref, files(ref.repo, *commit), why);
  if (!selection) return std::nullopt;
  Installed installed{*commit, *selection, snapshot(ref.repo, *commit), {}};
  const fs::path main = installed.snapshot / selection->main;
  installed.path = selection->kind == Selection::Kind::kText ? main : main.parent_path();
  return installed;
}

std::vector<std::string> HubCache::repos() const {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(dir_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kModels) || !has_files(it->path() / "snapshots")) continue;
    const std::string rest = name.substr(kModels.size());
    const size_t dashes = rest.find("--");
    if (dashes == std::string::npos) continue;
    out.push_back(rest.substr(0, dashes) + "/" + rest.substr(dashes + 2));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void HubCache::add_to_snapshot(const std::string& repo, const std::string& commit,
                               const std::string& file, const std::string& etag) const {
  const fs::path link = snapshot(repo, commit) / file;
  const fs::path bytes = blob(repo, etag);
  make_folders(link.parent_path());
  std::error_code error;
  // A new link under another name, then a rename: a reader never finds it missing.
  fs::path fresh = link;
  fresh += ".new";
  fs::remove(fresh, error);
  fs::create_symlink(bytes.lexically_relative(link.parent_path()), fresh, error);
  if (error) {
    fs::rename(bytes, link, error);
    if (error) throw_io("create", link, error.message());
    return;
  }
  fs::rename(fresh, link, error);
  if (error) throw_io("create", link, error.message());
}

void HubCache::write_ref(const std::string& repo, const std::string& revision,
                         const std::string& commit) const {
  if (is_commit(revision) || commit_of(repo, revision) == commit) return;
  const fs::path path = repo_dir(repo) / "refs" / revision;
  make_folders(path.parent_path());
  std::ofstream file(path, std::ios::trunc);
  file << commit;
  file.close();
  if (!file) throw_io("write", path, "the file could not be written");
}

uint64_t HubCache::remove(const std::string& repo, const std::string& commit,
                          const std::vector<std::string>& files) const {
  const fs::path folder = snapshot(repo, commit);
  std::set<fs::path> blobs;
  uint64_t freed = 0;
  std::error_code error;
  const auto erase = [&](const fs::path& path) {
    const uint64_t size = fs::is_symlink(path) ? 0 : fs::file_size(path, error);
    if (fs::remove(path, error) && !error) freed += size;
    if (error) throw_io("remove", path, error.message());
  };
  for (const std::string& file : files) {
    const fs::path target = link_target(folder / file);
    if (!target.empty()) blobs.insert(target);
    erase(folder / file);
    remove_empty((folder / file).parent_path(), repo_dir(repo) / "snapshots");
  }
  const fs::path snapshots = repo_dir(repo) / "snapshots";
  for (const fs::path& entry : entries_below(snapshots))
    blobs.erase(link_target(snapshots / entry));
  for (const fs::path& name : blobs) {
    if (fs::exists(blob(repo, name.string()), error)) erase(blob(repo, name.string()));
  }
  if (!has_files(snapshots)) fs::remove_all(repo_dir(repo), error);
  return freed;
}

}  // namespace rill::cli::hub
