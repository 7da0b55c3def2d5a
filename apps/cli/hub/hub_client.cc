// SPDX-License-Identifier: Apache-2.0
#include "hub_client.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "exit_codes.h"
#include "hub_catalog.h"
#include "hub_error.h"
#include "hub_hash.h"
#include "hub_url.h"

namespace rill::cli::hub {
namespace {

constexpr int kMaxAttempts = 5;
constexpr int kMaxRedirects = 8;
constexpr double kFirstWaitS = 0.25;
// Longer than this nobody wants to look at a program that waits.
constexpr double kLongestWaitS = 120;

bool is_temporary(const HttpReply& reply) {
  switch (reply.status) {
    case 0:
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return !reply.failure.empty();
  }
}

std::string describe_status(const HttpReply& reply) {
  const std::string said = reply.header("x-error-message");
  return "HTTP " + std::to_string(reply.status) + (said.empty() ? "" : ", " + said.substr(0, 200));
}

/// Seconds that the hub asks to wait; nothing if it does not say.
std::optional<double> retry_after_s(const HttpReply& reply) {
  const std::string text = reply.header("retry-after");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stod(text);
}

/// True for a path that stays inside the folder that it is put into.
bool is_safe_path(const std::string& path) {
  if (path.empty() || path.size() > 1000 || path.front() == '/') return false;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f) return false;
  }
  size_t start = 0;
  while (start <= path.size()) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = std::string_view(path).substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

/// The hash in an entity tag: without quotes, and without the mark of a weak one.
std::string bare_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  return etag;
}

uint64_t read_size(const std::string& text) {
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return UINT64_MAX;
  }
  return std::stoull(text);
}

HubError nonsense(const std::string& what, const std::string& detail) {
  return HubError(kExitUnreadable, what + ": the hub's answer makes no sense: " + detail);
}

RepoListing read_listing(const std::string& body, const std::string& what) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  RepoListing listing;
  if (json.is_object() && json.contains("sha") && json["sha"].is_string())
    listing.commit = json["sha"].get<std::string>();
  if (!is_commit(listing.commit)) throw nonsense(what, "sha is not a commit");
  if (!json.contains("siblings") || !json["siblings"].is_array())
    throw nonsense(what, "siblings is not a list");
  for (const auto& item : json["siblings"]) {
    if (!item.is_object() || !item.contains("rfilename") || !item["rfilename"].is_string())
      continue;
    std::string name = item["rfilename"].get<std::string>();
    // A name that leads elsewhere is no file of ours.
    if (is_safe_path(name)) listing.files.push_back(std::move(name));
  }
  return listing;
}

}  // namespace

HubClient::HubClient(HubSettings settings, HubEvents events)
    : settings_(std::move(settings)), events_(std::move(events)) {
  if (!can_download()) {
    throw HubError(kExitUsage, "this build cannot download: it was built without libcurl");
  }
  if (settings_.offline) {
    throw HubError(kExitUnreadable,
                   "not in the cache " + settings_.cache_dir +
                       ", and --offline or HF_HUB_OFFLINE forbids to ask the network");
  }
}

std::string HubClient::file_url(const std::string& repo, const std::string& commit,
                                const std::string& file) const {
  return settings_.endpoint + "/" + repo + "/resolve/" + url_escape(commit) + "/" +
         url_escape_path(file);
}

HttpReply HubClient::follow(HttpRequest request) const {
  const std::string home = url_origin(settings_.endpoint);
  const std::vector<std::string> headers = request.headers;
  request.go_on = events_.go_on;
  for (int hop = 0;; ++hop) {
    request.headers = headers;
    const bool at_home = url_origin(request.url) == home;
    if (at_home && !settings_.token.empty())
      request.headers.push_back("Authorization: Bearer " + settings_.token);
    HttpReply reply = http_send(request);
    if (events_.go_on && !events_.go_on()) throw HubInterrupted();
    const bool redirect = reply.status >= 301 && reply.status <= 308 && reply.status != 304;
    const std::string location = reply.header("location");
    if (!redirect || location.empty()) return reply;
    const std::string next = url_join(request.url, location);
    // The hub itself says what a file is; where its bytes lie does not matter for that.
    if (request.head && url_origin(next) != home) return reply;
    if (hop == kMaxRedirects) {
      reply.failure = "too many redirects";
      reply.status = 0;
      return reply;
    }
    if (request.url.starts_with("https://") && !next.starts_with("https://"))
      throw HubError(kExitFailed, request.url + ": refusing a redirect to " + next);
    request.url = next;
  }
}

void HubClient::check_final(const HttpReply& reply, const std::string& what) const {
  if (is_temporary(reply) || reply.status < 400) return;
  const std::string status = " (" + describe_status(reply) + ")";
  switch (reply.status) {
    case 401:
      throw HubError(kExitFailed,
                     what + ": not public, or no such repository" + status +
                         (settings_.token.empty() ? "; if it is not public, set HF_TOKEN"
                                                  : "; the hub does not take this HF_TOKEN"));
    case 403:
      throw HubError(
          kExitFailed,
          what + ": access refused" + status +
              "; accept the model's terms on its page, and check the rights of HF_TOKEN");
    case 404:
      throw HubError(kExitUnreadable, what + ": no such repository, revision or file" + status);
    default:
      throw HubError(kExitFailed, what + ": the hub refused" + status);
  }
}

void HubClient::wait_to_retry(const HttpReply& reply, const std::string& what, int attempt) const {
  const std::string trouble =
      reply.failure.empty() || reply.status >= 400 ? describe_status(reply) : reply.failure;
  const double wait_s =
      retry_after_s(reply).value_or(kFirstWaitS * static_cast<double>(1 << attempt));
  if (attempt >= kMaxAttempts) {
    throw HubError(kExitFailed,
                   what + ": " + trouble + "; gave up after " + std::to_string(attempt) + " tries");
  }
  if (wait_s > kLongestWaitS) {
    throw HubError(kExitFailed, what + ": " + trouble + "; the hub asks to wait " +
                                    std::to_string(static_cast<int64_t>(wait_s)) +
                                    " s, try again then");
  }
  if (events_.note && wait_s >= 1)
    events_.note(what + ": " + trouble + "; trying again in " +
                 std::to_string(static_cast<int64_t>(wait_s)) + " s");
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  while (std::chrono::steady_clock::now() < until) {
    if (events_.go_on && !events_.go_on()) throw HubInterrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

HttpReply HubClient::ask(const HttpRequest& request, const std::string& what) const {
  for (int attempt = 1;; ++attempt) {
    HttpReply reply = follow(request);
    check_final(reply, what);
    if (!is_temporary(reply)) return reply;
    wait_to_retry(reply, what, attempt);
  }
}

RepoListing HubClient::list(const std::string& repo, const std::string& revision) const {
  HttpRequest request;
  request.url = settings_.endpoint + "/api/models/" + repo + "/revision/" + url_escape(revision);
  const std::string what = repo + "@" + revision;
  return read_listing(ask(request, what).body, what);
}

RemoteFile HubClient::describe(const std::string& repo, const std::string& commit,
                               const std::string& file) const {
  HttpRequest request;
  request.url = file_url(repo, commit, file);
  request.head = true;
  request.headers = {"Accept-Encoding: identity"};
  const std::string what = repo + "/" + file;
  const HttpReply reply = ask(request, what);
  RemoteFile remote;
  remote.name = file;
  const std::string linked = reply.header("x-linked-etag");
  remote.etag = bare_etag(linked.empty() ? reply.header("etag") : linked);
  const std::string size = reply.header("x-linked-size");
  remote.size = read_size(size.empty() ? reply.header("content-length") : size);
  if (!is_hash(remote.etag)) throw nonsense(what, "the entity tag is no hash of the content");
  if (remote.size == UINT64_MAX) throw nonsense(what, "the size is missing");
  return remote;
}

HttpReply HubClient::read(const std::string& repo, const std::string& commit,
                          const std::string& file, uint64_t offset, const std::string& etag,
                          const Sink& sink) const {
  HttpRequest request;
  request.url = file_url(repo, commit, file);
  request.headers = {"Accept-Encoding: identity"};
  if (offset > 0) {
    request.headers.push_back("Range: bytes=" + std::to_string(offset) + "-");
    if (!etag.empty() && !etag.starts_with("W/")) request.headers.push_back("If-Range: " + etag);
  }
  request.sink = sink;
  return follow(std::move(request));
}

}  // namespace rill::cli::hub
