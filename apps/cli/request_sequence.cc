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

Complaint read_meta(const json& value, std::vector<KeyValue>& meta) {
  if (!value.is_object()) return "meta: expected an object";
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return "meta." + key + ": expected a string";
    meta.emplace_back(key, text.get<std::string>());
  }
  return "";
}

Complaint read_artifact(const json& item, const std::filesystem::path& folder,
                        SequenceArtifact& artifact) {
  if (!item.is_object()) return "expected an object";
  for (const auto& [key, value] : item.items()) {
    if (key == "meta") {
      if (Complaint complaint = read_meta(value, artifact.meta); !complaint.empty())
        return complaint;
      continue;
    }
    if (key == "payload" || key == "payload_hex")
      return key + ": not taken; write the bytes to a file and give its path";
    if (key != "id" && key != "kind" && key != "path") return key + ": unknown key";
    if (!value.is_string()) return key + ": expected a string";
    const auto text = value.get<std::string>();
    if (key == "id") artifact.id = text;
    if (key == "kind") artifact.kind = text;
    if (key == "path") artifact.path = (folder / text).string();
  }
  if (artifact.id.empty()) return "id: missing";
  if (artifact.kind.empty()) return "kind: missing";
  return artifact.path.empty() ? "path: missing" : "";
}

Complaint read_artifacts(const json& list, const std::filesystem::path& folder,
                         std::vector<SequenceArtifact>& artifacts) {
  if (!list.is_array()) return "artifacts: expected an array";
  for (const json& item : list) {
    SequenceArtifact artifact;
    if (const Complaint complaint = read_artifact(item, folder, artifact); !complaint.empty())
      return "artifacts[" + std::to_string(artifacts.size()) + "]." + complaint;
    artifacts.push_back(std::move(artifact));
  }
  return "";
}

bool task_takes(const std::string& task, const std::string& key) {
  if (key == "id" || key == "language" || key == "options") return true;
  if (key == "audio") return task != "tts";
  if (key == "text") return task != "asr";
  if (key == "voice") return task == "tts";
  return key == "artifacts" && task == "s2s";
}

Complaint read_string(const std::string& key, const json& value,
                      const std::filesystem::path& folder, SequenceRequest& request) {
  if (!value.is_string()) return key + ": expected a string";
  const auto text = value.get<std::string>();
  if (key == "id") request.id = text;
  if (key == "audio") request.audio = (folder / text).string();
  if (key == "text") request.text = text;
  if (key == "voice") request.voice = text;
  if (key == "language" && !text.empty()) request.options.emplace_back("language", text);
  return "";
}

Complaint read_request(const json& item, const std::string& task,
                       const std::filesystem::path& folder, SequenceRequest& request) {
  if (!item.is_object()) return "expected an object";
  for (const auto& [key, value] : item.items()) {
    if (!task_takes(task, key)) return key + ": the task " + task + " does not take it";
    const Complaint complaint = key == "options" ? read_options(value, request.options)
                                : key == "artifacts"
                                    ? read_artifacts(value, folder, request.artifacts)
                                    : read_string(key, value, folder, request);
    if (!complaint.empty()) return complaint;
  }
  if (task == "tts") return request.text.empty() ? "text: missing" : "";
  return request.audio.empty() ? "audio: missing" : "";
}

}  // namespace

int read_request_sequence(const std::string& path, const std::string& task,
                          std::vector<SequenceRequest>& requests) {
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
    if (const Complaint complaint = read_request(item, task, folder, request); !complaint.empty()) {
      return report(kExitUnreadable,
                    context + "request " + std::to_string(requests.size()) + ": " + complaint);
    }
    requests.push_back(std::move(request));
  }
  return kExitOk;
}

}  // namespace rill::cli
