// SPDX-License-Identifier: Apache-2.0
// The cache on disk, laid out as Hugging Face's tools do it:
//   models--ORG--REPO/blobs/ETAG               the bytes; ETAG.incomplete while they come
//   models--ORG--REPO/refs/REVISION            the commit that a branch or tag stands for
//   models--ORG--REPO/snapshots/COMMIT/FILE    links to blobs, or plain files
//   .locks/models--ORG--REPO/ETAG.lock
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hub_select.h"

namespace rill::cli::hub {

/// Where an installed model lies.
struct Installed {
  std::string commit;
  Selection selection;
  std::filesystem::path snapshot;  ///< folder of the files
  std::filesystem::path path;      ///< what to open: the GGUF, or the folder
};

class HubCache {
 public:
  explicit HubCache(std::filesystem::path dir) : dir_(std::move(dir)) {}

  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  [[nodiscard]] std::filesystem::path repo_dir(const std::string& repo) const;
  [[nodiscard]] std::filesystem::path blob(const std::string& repo, const std::string& etag) const;
  [[nodiscard]] std::filesystem::path snapshot(const std::string& repo,
                                               const std::string& commit) const;
  [[nodiscard]] std::filesystem::path lock(const std::string& repo, const std::string& etag) const;

  /// The commit that the cache has for a revision; nothing if it has none.
  [[nodiscard]] std::optional<std::string> commit_of(const std::string& repo,
                                                     const std::string& revision) const;
  /// Files of a snapshot whose bytes are there, relative to it.
  [[nodiscard]] std::vector<std::string> files(const std::string& repo,
                                               const std::string& commit) const;
  /// The model, if all that it needs is there. Never asks the network.
  [[nodiscard]] std::optional<Installed> find(const ModelRef& ref) const;
  /// Repositories that have a snapshot, as ORG/REPO, sorted.
  [[nodiscard]] std::vector<std::string> repos() const;

  /// Makes FILE of the snapshot stand for the blob: a link, or where links cannot be made the file
  /// itself. Throws HubError.
  void add_to_snapshot(const std::string& repo, const std::string& commit, const std::string& file,
                       const std::string& etag) const;
  void write_ref(const std::string& repo, const std::string& revision,
                 const std::string& commit) const;
  /// Removes files of a snapshot, the blobs that nothing else links to, and folders left empty.
  /// Returns the bytes that became free. Throws HubError.
  uint64_t remove(const std::string& repo, const std::string& commit,
                  const std::vector<std::string>& files) const;

 private:
  std::filesystem::path dir_;
};

/// Throws HubError that says what failed on which path.
[[noreturn]] void throw_io(const std::string& what, const std::filesystem::path& path,
                           const std::string& why);

}  // namespace rill::cli::hub
