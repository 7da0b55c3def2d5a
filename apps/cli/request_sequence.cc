// SPDX-License-Identifier: Apache-2.0
#include "request_sequence.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exit_codes.h"

namespace rill::cli {
namespace {

using nlohmann::json;

/// A message about the sequence file, or "" if all is well.
using Complaint = std::string;

/// An option's value as the text that the library parses, or nothing for a value of another kind.
bool option_text(const json& value, std::string& text) {
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number() || value.is_boolean()) {
    text = value.dump();
  } else {
    return false;
  }
  return true;
}

Complaint read_options(const json& value, std::vector<KeyValue>& options) {
  if (!value.is_object()) return "options: expected an object";
  for (const auto& [key, option] : value.items()) {
    std::string text;
    if (!option_text(option, text))
      return "options." + key + ": expected a string, number or boolean";
    options.emplace_back(key, text);
  }
  return "";
}

Complaint read_request(const json& item, const std::filesystem::path& folder,
                       SequenceRequest& request) {
  if (!item.is_object()) return "expected an object";
  for (const auto& [key, value] : item.items()) {
    if (key == "options") {
      if (Complaint complaint = read_options(value, request.options); !complaint.empty())
        return complaint;
      continue;
    }
    if (key != "id" && key != "audio" && key != "language")
      return key + ": the task asr does not take it";
    if (!value.is_string()) return key + ": expected a string";
    const auto text = value.get<std::string>();
    if (key == "id") request.id = text;
    if (key == "audio") request.audio = (folder / text).string();
    if (key == "language" && !text.empty()) request.options.emplace_back("language", text);
  }
  return request.audio.empty() ? "audio: missing" : "";
}

}  // namespace

int read_request_sequence(const std::string& path, std::vector<SequenceRequest>& requests) {
  const std::string context = "--request-sequence " + path + ": ";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf()))
    return report(kExitUnreadable, context + "cannot read the file");
  const json root = json::parse(content.str(), nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return report(kExitUnreadable, context + "not valid JSON");
  const json* list = &root;
  if (root.is_object() && root.contains("requests")) list = &root.at("requests");
  if (!list->is_array() || list->empty()) {
    return report(kExitUnreadable, context + "expected an array of requests with at least one");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const json& item : *list) {
    SequenceRequest request;
    request.id = "request_" + std::to_string(requests.size());
    if (const Complaint complaint = read_request(item, folder, request); !complaint.empty()) {
      return report(kExitUnreadable,
                    context + "request " + std::to_string(requests.size()) + ": " + complaint);
    }
    requests.push_back(std::move(request));
  }
  return kExitOk;
}

}  // namespace rill::cli
