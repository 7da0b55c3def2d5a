// SPDX-License-Identifier: Apache-2.0
// HTTP through libcurl.
#include <curl/curl.h>

#include <memory>
#include <string_view>

#include "hub_http.h"

namespace rill::cli::hub {
namespace {

// What goes into HttpReply::body is metadata; more than this is not the hub talking.
constexpr size_t kMaxBodyBytes = size_t{64} << 20;
constexpr long kConnectTimeoutS = 20;
constexpr long kStallTimeoutS = 30;

struct Transfer {
  const HttpRequest* request;
  HttpReply* reply;
};

struct EndCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(started);  // a failure shows again when a handle is wanted
}

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) transfer->reply->headers.clear();  // 100 Continue came before
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && static_cast<unsigned char>(value.back()) <= ' ')
      value.remove_suffix(1);
    transfer->reply->headers[name] = std::string(value);
  }
  return line.size();
}

struct BodyContext {
  Transfer transfer;
  CURL* curl;
};

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto* context = static_cast<BodyContext*>(user);
  HttpReply& reply = *context->transfer.reply;
  const size_t bytes = size * count;
  if (reply.status == 0) {
    long status = 0;
    curl_easy_getinfo(context->curl, CURLINFO_RESPONSE_CODE, &status);
    reply.status = static_cast<int>(status);
  }
  const auto& sink = context->transfer.request->sink;
  if (sink) return sink(reply, data, bytes) ? bytes : 0;
  if (reply.body.size() + bytes > kMaxBodyBytes) return 0;
  reply.body.append(data, bytes);
  return bytes;
}

int take_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* transfer = static_cast<const Transfer*>(user);
  return transfer->request->go_on && !transfer->request->go_on() ? 1 : 0;
}

void set_limits(CURL* curl) {
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallTimeoutS);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "rill");
}

}  // namespace

std::string HttpReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

bool can_download() { return true; }

HttpReply http_send(const HttpRequest& request) {
  start_curl();
  HttpReply reply;
  const std::unique_ptr<CURL, EndCurl> curl(curl_easy_init());
  if (curl == nullptr) {
    reply.failure = "libcurl does not start";
    return reply;
  }
  std::unique_ptr<curl_slist, EndCurl> headers;
  for (const std::string& header : request.headers) {
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  }
  BodyContext body{{&request, &reply}, curl.get()};
  char message[CURL_ERROR_SIZE] = "";
  set_limits(curl.get());
  curl_easy_setopt(curl.get(), CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOBODY, request.head ? 1L : 0L);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, message);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &body.transfer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, take_progress);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &body.transfer);
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  reply.status = static_cast<int>(status);
  if (code != CURLE_OK) reply.failure = message[0] != '\0' ? message : curl_easy_strerror(code);
  return reply;
}

}  // namespace rill::cli::hub
