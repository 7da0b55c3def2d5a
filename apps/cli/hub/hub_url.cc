// SPDX-License-Identifier: Apache-2.0
#include "hub_url.h"

namespace rill::cli::hub {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string escape(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_unreserved(c) || kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

/// Where the path begins.
size_t authority_end(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t start = scheme == std::string_view::npos ? 0 : scheme + 3;
  const size_t end = url.find_first_of("/?#", start);
  return end == std::string_view::npos ? url.size() : end;
}

}  // namespace

std::string url_origin(std::string_view url) {
  std::string origin(url.substr(0, authority_end(url)));
  for (char& c : origin) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const size_t host = origin.find("://");
  if (host == std::string::npos) return origin;
  // "user@host" would otherwise hide the host.
  const size_t at = origin.rfind('@');
  if (at != std::string::npos) origin.erase(host + 3, at + 1 - (host + 3));
  const size_t bracket = origin.find(']');  // of an IPv6 address
  if (origin.find(':', bracket == std::string::npos ? host + 3 : bracket) == std::string::npos)
    origin += origin.starts_with("https") ? ":443" : ":80";
  return origin;
}

std::string url_join(std::string_view base, std::string_view location) {
  if (location.find("://") != std::string_view::npos && location.find("://") < location.find('/'))
    return std::string(location);
  if (location.starts_with("//"))
    return std::string(base.substr(0, base.find(':') + 1)) + std::string(location);
  if (location.starts_with('/'))
    return std::string(base.substr(0, authority_end(base))) + std::string(location);
  return std::string(base.substr(0, base.rfind('/') + 1)) + std::string(location);
}

std::string url_escape(std::string_view part) { return escape(part, ""); }
std::string url_escape_path(std::string_view path) { return escape(path, "/"); }

}  // namespace rill::cli::hub
