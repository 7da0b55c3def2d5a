// SPDX-License-Identifier: Apache-2.0
// HTTP in a build without libcurl: there is none.
#include "hub_http.h"

namespace rill::cli::hub {

std::string HttpReply::header(const std::string&) const { return ""; }

bool can_download() { return false; }

HttpReply http_send(const HttpRequest&) {
  HttpReply reply;
  reply.failure = "this build cannot download: it was built without libcurl";
  return reply;
}

}  // namespace rill::cli::hub
