// SPDX-License-Identifier: Apache-2.0
// Fetching one file into the cache, and all files of a model.
#pragma once

#include <functional>
#include <string>

#include "hub_cache.h"
#include "hub_client.h"

namespace rill::cli::hub {

/// Told what is going on: the file, and the part of it that is done, 0 to 1.
using DownloadProgress = std::function<void(const std::string& file, double done)>;

/// Brings the file's bytes to their blob: goes on where an earlier try ended, and lets another
/// process that fetches the same file finish first. A blob that is there is not fetched again.
/// Throws HubError: a hash or a size that is wrong (the bytes are removed), a full disk, the hub's
/// errors; HubInterrupted (the bytes so far stay).
void fetch_blob(const HubClient& client, const HubCache& cache, const std::string& repo,
                const std::string& commit, const RemoteFile& file,
                const DownloadProgress& progress);

/// How to install.
struct InstallOptions {
  bool force = false;  ///< fetch again what is there
};

/// Fetches what is missing of a model. Asks the hub even if all is there.
/// Throws as fetch_blob; HubError if the repository holds no such model.
Installed install(const HubClient& client, const HubCache& cache, const ModelRef& ref,
                  const InstallOptions& options, const DownloadProgress& progress);

}  // namespace rill::cli::hub
