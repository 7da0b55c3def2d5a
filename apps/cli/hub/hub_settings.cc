// SPDX-License-Identifier: Apache-2.0
#include "hub_settings.h"

#include <cstdlib>
#include <fstream>

#include "exit_codes.h"
#include "hub_error.h"

namespace rill::cli::hub {
namespace {

constexpr const char* kDefaultEndpoint = "https://huggingface.co";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_true(std::string value) {
  for (char& c : value) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string home_dir() {
  const std::string hub_home = environment("HF_HOME");
  if (!hub_home.empty()) return hub_home;
  const std::string cache = environment("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/huggingface";
  return environment("HOME") + "/.cache/huggingface";
}

std::string read_token() {
  std::string token = trimmed(environment("HF_TOKEN"));
  if (!token.empty()) return token;
  std::string path = environment("HF_TOKEN_PATH");
  if (path.empty()) path = home_dir() + "/token";
  std::ifstream file(path);
  std::getline(file, token);
  return trimmed(token);
}

std::string read_endpoint() {
  std::string endpoint = environment("HF_ENDPOINT");
  if (endpoint.empty()) return kDefaultEndpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.starts_with("https://") && !endpoint.starts_with("http://")) {
    throw HubError(kExitUsage,
                   "HF_ENDPOINT: got '" + endpoint + "', expected an http or https address");
  }
  return endpoint;
}

std::string read_cache_dir() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    const std::string value = environment(name);
    if (!value.empty()) return value;
  }
  return home_dir() + "/hub";
}

}  // namespace

HubSettings read_hub_settings(bool offline_flag) {
  HubSettings settings;
  settings.endpoint = read_endpoint();
  settings.token = read_token();
  settings.cache_dir = read_cache_dir();
  settings.offline = offline_flag || is_true(environment("HF_HUB_OFFLINE"));
  return settings;
}

}  // namespace rill::cli::hub
