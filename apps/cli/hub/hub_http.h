// SPDX-License-Identifier: Apache-2.0
// One HTTP request. Redirects, retries and tokens are the caller's business.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rill::cli::hub {

struct HttpReply {
  int status = 0;                              ///< 0: no answer came
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;                            ///< unless the request has a sink
  std::string failure;                         ///< what broke the connection; "" if nothing did

  /// "" for a header that is not there.
  [[nodiscard]] std::string header(const std::string& name) const;
};

struct HttpRequest {
  std::string url;
  bool head = false;
  std::vector<std::string> headers;  ///< "Name: value"
  /// Takes the body as it comes, with the reply's status and headers; false ends the transfer.
  std::function<bool(const HttpReply& reply, const char* data, size_t size)> sink;
  std::function<bool()> go_on;  ///< asked now and then; false ends the transfer
};

/// False in a build without libcurl, where http_send fails.
[[nodiscard]] bool can_download();

/// Sends the request and waits for the whole answer. Never throws on trouble of the network.
HttpReply http_send(const HttpRequest& request);

}  // namespace rill::cli::hub
