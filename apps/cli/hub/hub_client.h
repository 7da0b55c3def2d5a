// SPDX-License-Identifier: Apache-2.0
// What the hub is asked: which files a repository holds, what a file is, its bytes. Follows
// redirects, waits and tries again where that helps, and gives the token to the hub's own address
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hub_http.h"
#include "hub_settings.h"

namespace rill::cli::hub {

struct RepoListing {
  std::string commit;
  std::vector<std::string> files;
};

struct RemoteFile {
  std::string name;
  std::string etag;  ///< hash of the content: the name of its blob
  uint64_t size = 0;
};

/// What the user is told, and whether to go on.
struct HubEvents {
  std::function<void(const std::string& message)> note;
  std::function<bool()> go_on;
};

class HubClient {
 public:
  /// Throws HubError (usage) in a build that cannot download, and (not found) when offline.
  HubClient(HubSettings settings, HubEvents events);

  /// Throws HubError: the answers 401, 403, 404, ..., no answer after several tries, nonsense.
  RepoListing list(const std::string& repo, const std::string& revision) const;
  RemoteFile describe(const std::string& repo, const std::string& commit,
                      const std::string& file) const;

  using Sink = std::function<bool(const HttpReply& reply, const char* data, size_t size)>;
  /// One try at the file's bytes from `offset` on; `etag` is the entity tag of the answer that the
  /// bytes before came from, or "".
  [[nodiscard]] HttpReply read(const std::string& repo, const std::string& commit,
                               const std::string& file, uint64_t offset, const std::string& etag,
                               const Sink& sink) const;

  /// Throws HubError for an answer that no other try makes better.
  void check_final(const HttpReply& reply, const std::string& what) const;
  /// Waits before try number `attempt` + 1: as long as the hub asks, else longer each time.
  /// Throws HubError when that was the last one, HubInterrupted.
  void wait_to_retry(const HttpReply& reply, const std::string& what, int attempt) const;

  [[nodiscard]] const HubEvents& events() const { return events_; }

 private:
  [[nodiscard]] HttpReply follow(HttpRequest request) const;
  [[nodiscard]] HttpReply ask(const HttpRequest& request, const std::string& what) const;
  [[nodiscard]] std::string file_url(const std::string& repo, const std::string& commit,
                                     const std::string& file) const;

  HubSettings settings_;
  HubEvents events_;
};

}  // namespace rill::cli::hub
